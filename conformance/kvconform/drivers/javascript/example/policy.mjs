// @ts-check
// One maybe-quantize pass in the dialect `proposal`: planned first, conversions included, and committed afterwards,
// so that a pass that fails has changed nothing (MQ-13).

import { checkBits, compatibleGroupSizes, resolveGroupSize } from './group_size.mjs';
import { planted } from './plant.mjs';

/** @typedef {import('./caches.mjs').Cache} Cache */

/**
 * QP-1, QP-2: a chunked cache counts as plain.
 * @param {Cache} cache
 */
export function isQuantizable(cache) {
  const { kind } = cache;
  return kind === 'plain' || kind === 'chunked' || (kind === 'rotating' && planted('convert-rotating'));
}

/**
 * Whether it can be quantized at some group size, whatever is requested (HD-2).
 * @param {Cache} cache
 */
export function isCompatible(cache) {
  const dims = cache.headDims;
  return dims !== null && compatibleGroupSizes(...dims).length > 0;
}

/**
 * Whether the layer triggers: quantizable and over the line, compatible or not (TH-1, TH-4, TH-5).
 * @param {Cache} cache
 * @param {number} start
 */
export function qualifies(cache, start) {
  return isQuantizable(cache) && /** @type {number} */ (cache.offset) >= start;
}

/**
 * Whether the pass converts the layer, once one layer has triggered (MQ-3).
 * @param {Cache} cache
 * @param {number} groupSize
 */
export function converts(cache, groupSize) {
  if (cache.kind === 'quantized' && planted('quantize-twice')) return true;
  if (!isQuantizable(cache) || !cache.holdsEveryRow) return false;
  const dims = cache.headDims; // null: an empty layer stays plain (MQ-8)
  return dims !== null && resolveGroupSize(groupSize, ...dims) !== null;
}

/**
 * Whether the pass triggers, and the layers after it; nothing has changed yet.
 * @param {readonly Cache[]} layers
 * @param {number | null} bits
 * @param {number} groupSize
 * @param {number} start
 */
export function planPass(layers, bits, groupSize, start) {
  const triggered = bits !== null && layers.some((layer) => qualifies(layer, start)); // MQ-1, MQ-2
  if (!triggered) return { triggered, layers };
  checkBits(bits); // MQ-14
  /** @type {Map<Cache, Cache>} An object that sits in two places is converted once (MQ-12). */
  const results = new Map();
  for (const layer of layers) {
    if (results.has(layer)) continue;
    results.set(layer, converts(layer, groupSize) ? layer.toQuantized(bits, groupSize) : layer);
  }
  return { triggered, layers: layers.map((layer) => /** @type {Cache} */ (results.get(layer))) };
}

/**
 * The free pass, without memory, on the list itself; whether it triggered (MQ-15).
 * @param {Cache[]} list
 * @param {number | null} bits
 * @param {number} [groupSize]
 * @param {number} [start]
 */
export function maybeQuantize(list, bits, groupSize = 64, start = 0) {
  const plan = planPass(list, bits, groupSize, start);
  list.splice(0, list.length, ...plan.layers);
  return plan.triggered;
}
