// @ts-check
// The arithmetic that everybody shares: unsigned 32-bit integers that wrap around (contract, section 1).

export const GOLDEN = 0x9e3779b9;
export const STATE_MODULUS = 251;

/**
 * MurmurHash3's 32-bit finaliser.
 * @param {number} h
 */
export function fmix(h) {
  h ^= h >>> 16;
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/**
 * Folds the integer `x`, taken modulo 2^32, into the hash `h`.
 * @param {number} h
 * @param {number} x
 */
export function chain(h, x) {
  return fmix((Math.imul(h, 31) + (x | 0) + GOLDEN) | 0);
}

/**
 * `chain` over all parts, starting from 0.
 * @param {...number} parts
 */
export function chainAll(...parts) {
  return parts.reduce(chain, 0);
}

/**
 * The `dim` values of one row of the content pattern: multiples of 1/64 in [-2, 2].
 * @param {number} stream the layer's number
 * @param {number} salt
 * @param {number} role 0 for keys, 1 for values
 * @param {number} head
 * @param {number} position the absolute position of the row
 * @param {number} dim
 */
export function rowValues(stream, salt, role, head, position, dim) {
  const values = new Float32Array(dim);
  let key = chainAll(stream, salt, role, head, position);
  for (let channel = 0; channel < dim; channel += 1) {
    values[channel] = ((fmix(key) % 257) - 128) / 64;
    key = (key + GOLDEN) | 0;
  }
  return values;
}

/**
 * The tokens of a prompt.
 * @param {{length: number, seed: number}} prompt
 * @param {number} vocab
 */
export function promptTokens(prompt, vocab) {
  return Array.from({ length: prompt.length }, (_, i) => chainAll(prompt.seed, i) % vocab);
}
