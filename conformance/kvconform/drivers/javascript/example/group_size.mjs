// @ts-check
// Which group size a layer is quantized with, given what was requested and the layer's head dims (GS).

import { InvalidArgument } from './invalid.mjs';
import { planted } from './plant.mjs';

export const SUPPORTED_GROUP_SIZES = Object.freeze([32, 64, 128]); // GS-1
export const SUPPORTED_BITS = Object.freeze([2, 3, 4, 5, 6, 8]); // MQ-14

/**
 * The supported sizes that divide both head dims, ascending (GS-1, GS-2).
 * @param {number} keyDim
 * @param {number} valueDim
 */
export function compatibleGroupSizes(keyDim, valueDim) {
  for (const dim of [keyDim, valueDim]) {
    if (!Number.isInteger(dim) || dim < 1) throw new InvalidArgument(`head dim ${dim} is not positive. GS-12`);
  }
  return SUPPORTED_GROUP_SIZES.filter((size) => keyDim % size === 0 && valueDim % size === 0);
}

/**
 * The compatible size nearest to the request, the smaller one of a tie; null when there is none (GS-3, GS-4, GS-9).
 * @param {number} requested
 * @param {number} keyDim
 * @param {number} valueDim
 * @returns {number | null}
 */
export function resolveGroupSize(requested, keyDim, valueDim) {
  const wanted = Math.max(1, requested);
  let best = null;
  for (const size of compatibleGroupSizes(keyDim, valueDim)) {
    if (best === null || isNearer(Math.abs(size - wanted), Math.abs(best - wanted))) best = size;
  }
  return best;
}

/**
 * @param {number} larger distance of the larger size
 * @param {number} smaller distance of the smaller size
 */
function isNearer(larger, smaller) {
  return planted('tie-high') ? larger <= smaller : larger < smaller;
}

/** @param {number} bits */
export function checkBits(bits) {
  if (!SUPPORTED_BITS.includes(bits)) {
    throw new InvalidArgument(`bits ${bits} are not supported; use one of ${SUPPORTED_BITS.join(', ')}. MQ-14`);
  }
}
