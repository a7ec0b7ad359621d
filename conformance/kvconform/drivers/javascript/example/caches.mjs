// @ts-check
// The cache classes.

export { Cache } from './cache.mjs';
export { ChunkedCache, PlainCache } from './plain.mjs';
export { QuantizedCache } from './quantized.mjs';
export { RotatingCache } from './rotating.mjs';
export { CompositeCache, RecurrentCache } from './whole.mjs';
