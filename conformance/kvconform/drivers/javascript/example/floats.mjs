// @ts-check
// The three number formats of KV caches: rounding to them (nearest, ties to even) and their little-endian bytes.
// A NaN has no sign and no payload here: it becomes the positive quiet NaN of its format.

import { InvalidArgument } from './invalid.mjs';

/** @typedef {'float32' | 'float16' | 'bfloat16'} DType */

/** @type {Readonly<Record<string, number>>} */
export const ITEM_BYTES = Object.freeze({ float32: 4, float16: 2, bfloat16: 2 });

const single = new Float32Array(1);
const pattern = new Uint32Array(single.buffer);

/**
 * The values as little-endian bytes of the dtype, each rounded to it.
 * @param {ArrayLike<number>} values float32 values
 * @param {string} dtype
 */
export function encode(values, dtype) {
  const size = checkedSize(dtype);
  const bytes = new Uint8Array(values.length * size);
  const view = new DataView(bytes.buffer);
  const toHalf = dtype === 'float16' ? float16Pattern : bfloat16Pattern;
  for (let i = 0; i < values.length; i += 1) {
    if (dtype === 'float32') view.setUint32(4 * i, float32Pattern(values[i]), true);
    else view.setUint16(2 * i, toHalf(values[i]), true);
  }
  return bytes;
}

/**
 * The values that little-endian bytes of the dtype hold.
 * @param {Uint8Array} bytes
 * @param {string} dtype
 */
export function decode(bytes, dtype) {
  const values = new Float32Array(bytes.length / checkedSize(dtype));
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const fromHalf = dtype === 'float16' ? fromFloat16 : fromBfloat16;
  for (let i = 0; i < values.length; i += 1) {
    values[i] = dtype === 'float32' ? view.getFloat32(4 * i, true) : fromHalf(view.getUint16(2 * i, true));
  }
  return values;
}

/** @param {string} dtype */
function checkedSize(dtype) {
  const size = ITEM_BYTES[dtype];
  if (size === undefined) throw new InvalidArgument(`dtype ${dtype} is not known; use float32, float16 or bfloat16`);
  return size;
}

/**
 * The bits of a value rounded to float32.
 * @param {number} value
 */
function float32Pattern(value) {
  single[0] = value;
  return value === value ? pattern[0] : 0x7fc00000;
}

/**
 * The upper half of the float32, after adding just under half of what is cut off (ties to even).
 * @param {number} value
 */
function bfloat16Pattern(value) {
  const bits = float32Pattern(value);
  return (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16;
}

/**
 * Sign, 5 bits of exponent, 10 of fraction; subnormals below 2^-14, overflow goes to infinity.
 * @param {number} value
 */
function float16Pattern(value) {
  const bits = float32Pattern(value);
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return 0x7e00;
  if (magnitude >= 0x47800000) return sign | 0x7c00; // 65536 and above
  if (magnitude < 0x38800000) {
    // below 2^-14: a multiple of 2^-24; the fraction's carry makes the smallest normal one
    return sign | roundHalfEven(Math.abs(single[0]) * 2 ** 24);
  }
  // Rebias the exponent (127 to 15), then round off 13 bits; a carry goes up into the exponent, as far as infinity.
  const rebiased = magnitude - 0x38000000;
  return sign | ((rebiased + 0xfff + ((rebiased >>> 13) & 1)) >>> 13);
}

/** @param {number} bits */
function fromBfloat16(bits) {
  pattern[0] = bits << 16;
  return single[0];
}

/** @param {number} bits */
function fromFloat16(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >>> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 0x1f) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

const ROUNDING_SHIFT = 1.5 * 2 ** 52;

/**
 * To the nearest integer, half to even, for a float32 value; NaN and infinities stay.
 * @param {number} value
 */
export function roundHalfEven(value) {
  // A float32 of 2^24 or more is an integer; below, adding and taking away this number rounds.
  return Math.abs(value) < 2 ** 24 ? value + ROUNDING_SHIFT - ROUNDING_SHIFT : value;
}
