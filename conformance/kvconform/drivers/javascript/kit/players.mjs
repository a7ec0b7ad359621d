// @ts-check
// Processors and samplers of a scripted turn; all of them write the trace (contract, section 6).

import { chainAll } from './arithmetic.mjs';
import { signatures } from './layers.mjs';

const BOOST = 1024;
const BOOST_SEED = 99;

function nothing() {}

/** Adds so much to one logit, another one at each call, that the sampler takes its token. */
class BoostProcessor {
  calls = 0;
  prompt() {}

  /** @param {Float32Array} logits */
  process(logits) {
    const boosted = Float32Array.from(logits);
    boosted[chainAll(BOOST_SEED, this.calls++) % boosted.length] += BOOST;
    return boosted;
  }

  didSample() {}
}

/** The lowest index of the highest logit, or of the lowest one. */
class ExtremeSampler {
  /** @param {1 | -1} sign */
  constructor(sign) {
    this.sign = sign;
  }

  /** @param {Float32Array} logits */
  sample(logits) {
    let best = 0;
    for (let token = 1; token < logits.length; token += 1) {
      if (this.sign * logits[token] > this.sign * logits[best]) best = token;
    }
    return best;
  }
}

/**
 * What a turn hands to the iterator that is built: exactly these things; a form uses what it takes.
 * Its `logged` and `worksOn` tell the kit what the iterator does by itself.
 */
export class Request {
  /**
   * @param {{turn: any, prompt: number[], parameters: any, model: any, list: any[] | null, container: any}} given
   * @param {{impl: any, trace: any[], onSample?: () => void, onDidSample?: () => void}} kit
   */
  constructor({ turn, prompt, parameters, model, list, container }, kit) {
    this.form = turn.form;
    this.prompt = prompt;
    this.parameters = parameters;
    this.model = model;
    this.list = list;
    this.container = container;
    this.kit = kit;
    this.working = container;
    this.processor = turn.processor === 'boost' ? this.logged(new BoostProcessor()) : null;
    this.sampler = this.explicitSampler(turn);
  }

  /**
   * A sampler or processor of the parameters' own, logged; null stays null.
   * @param {any} own
   */
  logged(own) {
    if (own === null || own === undefined) return null;
    return 'sample' in own ? this.loggedSampler(own) : this.loggedProcessor(own);
  }

  /** Tells that a deprecated form warned. */
  deprecated() {
    this.kit.trace.push({ event: 'deprecated' });
  }

  /**
   * Tells, before the prefill, which container the iterator made for itself: processors log what it lists.
   * @param {any} container
   */
  worksOn(container) {
    this.working = container;
  }

  /** @param {any} turn */
  explicitSampler(turn) {
    if (turn.sampler === 'parameters' && turn.form !== 'sampler-first') return null;
    return this.logged(new ExtremeSampler(turn.sampler === 'argmin' ? -1 : 1));
  }

  /** @param {any} own */
  loggedSampler(own) {
    const { trace, onSample = nothing } = this.kit;
    return {
      sample(/** @type {any} */ logits) {
        const token = own.sample(logits);
        trace.push({ event: 'sample', token });
        onSample();
        return token;
      },
    };
  }

  /** @param {any} own */
  loggedProcessor(own) {
    const { trace, impl, onDidSample = nothing } = this.kit;
    const current = () => (this.working === null ? this.model.lastSeen : impl.layers(this.working));
    return {
      prompt(/** @type {any} */ tokens) {
        trace.push({ event: 'prompt', tokens: [...tokens] });
        own.prompt(tokens);
      },
      process(/** @type {any} */ logits) {
        trace.push({ event: 'process', caches: signatures(impl, current()) });
        return own.process(logits);
      },
      didSample(/** @type {any} */ token) {
        trace.push({ event: 'did-sample', token });
        own.didSample(token);
        onDidSample();
      },
    };
  }
}
