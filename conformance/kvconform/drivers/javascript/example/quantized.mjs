// @ts-check
// The quantized cache, and the conversion of other caches into one (QC, MQ-5, MQ-6).

import { RowCache } from './cache.mjs';
import { ITEM_BYTES } from './floats.mjs';
import { checkBits, resolveGroupSize } from './group_size.mjs';
import { InvalidArgument } from './invalid.mjs';
import { planted } from './plant.mjs';
import { QuantizedBlock } from './rows.mjs';

/** @typedef {import('./cache.mjs').Cache} Cache */
/** @typedef {import('./rows.mjs').Shape} Shape */
/** @typedef {import('./rows.mjs').Block} Block */

/** Packed words, scales and biases of every row (QC). */
export class QuantizedCache extends RowCache {
  /**
   * Made empty it has the requested group size until the first write brings the head dims.
   * @param {number} bits
   * @param {number} groupSize
   */
  constructor(bits, groupSize) {
    super('quantized');
    checkBits(bits);
    this.bits = bits;
    this.groupSize = groupSize;
  }

  /**
   * The rows and the offset of another cache.
   * @param {RowCache} source
   * @param {number} bits
   * @param {number} groupSize
   */
  static from(source, bits, groupSize) {
    const result = new QuantizedCache(bits, groupSize);
    if (source.shape === null) return result;
    if (source.rows !== source.position) {
      throw new InvalidArgument('the cache holds fewer rows than were written and cannot be quantized; keep it. QP-2');
    }
    result.takeShape(source.shape);
    result.stored = source.fetch().mapBlocks((block) => result.asStored(block));
    result.position = source.position;
    result.allocate();
    return result;
  }

  /** @param {Shape} shape */
  takeShape(shape) {
    const { keyDim, valueDim } = shape;
    const size = this.shape === null ? resolveGroupSize(this.groupSize, keyDim, valueDim) : this.groupSize;
    if (size === null) throw new InvalidArgument(`no group size divides head dims ${keyDim} and ${valueDim}. GS-2`);
    super.takeShape(shape);
    this.groupSize = size;
  }

  /** @param {Block} block */
  asStored(block) {
    const { bits, groupSize, shape } = this;
    return new QuantizedBlock(block, { bits, groupSize, dtype: /** @type {Shape} */ (shape).dtype });
  }

  get rowBytes() {
    if (this.shape === null) return 0;
    const { heads, keyDim, valueDim, dtype } = this.shape;
    const dims = keyDim + valueDim;
    return heads * ((dims * this.bits) / 8 + (2 * ITEM_BYTES[dtype] * dims) / this.groupSize); // QC-8
  }

  ownHeadDims() {
    return null; // GS-10: more than one key and one value array
  }

  /**
   * @param {number} bits
   * @param {number} groupSize
   * @returns {Cache}
   */
  toQuantized(bits, groupSize) {
    if (!planted('quantize-twice')) return super.toQuantized(bits, groupSize); // MQ-12
    const result = new QuantizedCache(bits, groupSize);
    if (this.shape !== null) result.takeShape(this.shape);
    result.stored = this.fetch().mapBlocks((block) => result.asStored(/** @type {QuantizedBlock} */ (block).source));
    result.position = this.position;
    return result;
  }
}
