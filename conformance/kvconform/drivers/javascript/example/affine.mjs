// @ts-check
// Affine quantization of one row, step by step in float32, bit for bit as MLX computes it on the CPU (AQ-1).
// Math.fround after every operation keeps JavaScript's doubles to float32.

import { encode, roundHalfEven } from './floats.mjs';
import { checkBits, SUPPORTED_GROUP_SIZES } from './group_size.mjs';
import { InvalidArgument } from './invalid.mjs';

/**
 * One row as it is stored.
 * @typedef {{packed: Uint8Array, scales: Uint8Array, biases: Uint8Array}} QuantizedRow
 */

const { fround } = Math;
const SMALLEST_SCALE = fround(1e-7); // that of an all-zero group

/**
 * The group's values as codes, and the float32 scale and bias that they decode with: scale * code + bias.
 * @param {Float32Array} values
 * @param {number} bits
 */
export function quantizeGroup(values, bits) {
  const top = 2 ** bits - 1;
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value < low) low = value; // a NaN never wins
    if (value > high) high = value;
  }
  const step = fround(fround(high - low) / top);
  const size = step > SMALLEST_SCALE ? step : SMALLEST_SCALE;
  const fromLow = Math.abs(low) > Math.abs(high); // the end that is farther from zero; the high one of a tie
  const edge = fromLow ? low : high;
  const firstScale = fromLow ? size : -size;
  const edgeCode = roundHalfEven(fround(edge / firstScale)); // this rounding moves the scale of the whole group
  const scale = edgeCode !== 0 ? fround(edge / edgeCode) : firstScale;
  const bias = edgeCode !== 0 ? edge : 0; // AQ-3
  const codes = Uint8Array.from(values, (value) => clip(roundHalfEven(fround(fround(value - bias) / scale)), top));
  return { codes, scale, bias };
}

/**
 * Into 0 .. top; NaN becomes 0.
 * @param {number} code
 * @param {number} top
 */
function clip(code, top) {
  if (!(code > 0)) return 0;
  return code > top ? top : code;
}

/**
 * Quantizes a row; only the stored scales and biases are rounded to the dtype.
 * @param {Float32Array} values
 * @param {number} bits
 * @param {number} groupSize
 * @param {string} dtype
 * @returns {QuantizedRow}
 */
export function quantizeRow(values, bits, groupSize, dtype) {
  checkParameters(values.length, bits, groupSize);
  const count = values.length / groupSize;
  const codes = new Uint8Array(values.length);
  const scales = new Float32Array(count);
  const biases = new Float32Array(count);
  for (let group = 0; group < count; group += 1) {
    const start = group * groupSize;
    const quantized = quantizeGroup(values.subarray(start, start + groupSize), bits);
    codes.set(quantized.codes, start);
    scales[group] = quantized.scale;
    biases[group] = quantized.bias;
  }
  return { packed: packCodes(codes, bits), scales: encode(scales, dtype), biases: encode(biases, dtype) };
}

/**
 * A little-endian bit stream: code i starts at bit i * bits. Cut into 32-bit little-endian words it is the same
 * bytes, so codes of 3, 5 and 6 bits straddle words (QC-6).
 * @param {Uint8Array} codes
 * @param {number} bits
 */
export function packCodes(codes, bits) {
  const bytes = new Uint8Array((codes.length * bits) / 8);
  codes.forEach((code, index) => {
    const at = index * bits;
    bytes[at >> 3] |= code << (at & 7);
    if ((at & 7) + bits > 8) bytes[(at >> 3) + 1] |= code >> (8 - (at & 7));
  });
  return bytes;
}

/**
 * @param {number} length
 * @param {number} bits
 * @param {number} groupSize
 */
export function checkParameters(length, bits, groupSize) {
  checkBits(bits);
  if (!SUPPORTED_GROUP_SIZES.includes(groupSize)) {
    const sizes = SUPPORTED_GROUP_SIZES.join(', ');
    throw new InvalidArgument(`group size ${groupSize} is not supported; use one of ${sizes}`);
  }
  if (length % groupSize !== 0) {
    throw new InvalidArgument(`group size ${groupSize} does not divide a row of ${length} values`);
  }
}
