// @ts-check
// Everything that a driver needs but the implementation under test. Types: index.d.mts.

export { PrepareFailed, Refused, Unsupported } from './errors.mjs';
export { Implementation, Look } from './implementation.mjs';
export { answer } from './run.mjs';
export { Tensor } from './tensor.mjs';
export { Vector } from './vector.mjs';
export { serve, Server } from './wire.mjs';
