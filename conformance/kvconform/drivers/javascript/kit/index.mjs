// @ts-check
// Everything that a driver needs but the implementation under test. Types: index.d.mts.

export { PrepareFailed, Refused, Unsupported } from './errors.mjs';
export { Implementation, Look } from './implementation.mjs';
export { runScenario } from './run.mjs';
export { Tensor } from './tensor.mjs';
export { serve, Server } from './wire.mjs';
