// @ts-check
// Arrays as the wire carries them: a dtype, a shape, and little-endian bytes, row by row.

import { Refused } from './errors.mjs';

/** @type {Readonly<Record<string, number>>} */
export const ITEM_BYTES = Object.freeze({ float32: 4, float16: 2, bfloat16: 2, uint32: 4 });

export class Tensor {
  /**
   * @param {import('./index.mjs').TensorType} dtype
   * @param {readonly number[]} shape
   * @param {Uint8Array} bytes little-endian; fills the shape
   */
  constructor(dtype, shape, bytes) {
    this.dtype = dtype;
    this.shape = shape;
    this.bytes = bytes;
    const expected = shape.reduce((product, length) => product * length, 1) * ITEM_BYTES[dtype];
    if (bytes.length !== expected) {
      throw new Refused(`a tensor of shape [${shape}] of ${dtype} takes ${expected} bytes, not ${bytes.length}`);
    }
  }

  /**
   * The tensor that a scenario holds.
   * @param {{dtype: import('./index.mjs').TensorType, shape: readonly number[], data: string}} data
   */
  static fromWire(data) {
    return new Tensor(data.dtype, data.shape, Buffer.from(data.data, 'base64'));
  }

  /** What goes over the wire. */
  toJSON() {
    const { buffer, byteOffset, byteLength } = this.bytes;
    const data = Buffer.from(buffer, byteOffset, byteLength).toString('base64');
    return { dtype: this.dtype, shape: this.shape, data };
  }
}
