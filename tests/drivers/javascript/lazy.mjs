// The example, made lazy: construction does nothing, the first `next` does. DRIVER is the driver's folder.
import { Driver } from 'DRIVER/driver.mjs';
import { serve } from 'DRIVER/kit/index.mjs';

class LazyDriver extends Driver {
  constructor() {
    super();
    const { capabilities } = this.info;
    capabilities.features = capabilities.features.filter((feature) => feature !== 'eager');
  }

  makeIterator(request) {
    return { start: () => super.makeIterator(request), started: null };
  }

  next(lazy) {
    lazy.started ??= lazy.start();
    return super.next(lazy.started);
  }

  containerOf(lazy) {
    return super.containerOf(lazy.started);
  }

  count(lazy) {
    return super.count(lazy.started);
  }

  prefillTime(lazy) {
    return super.prefillTime(lazy.started);
  }
}

await serve(new LazyDriver());
