// @ts-check
// Rows that are computed when somebody looks at them. A cache holds Rows: ranges of blocks. A block is what one
// append wrote and never changes, so caches can share it without seeing each other's writes (MQ-6, QC-9).

import { quantizeRow } from './affine.mjs';
import { decode, encode, ITEM_BYTES } from './floats.mjs';
import { InvalidArgument } from './invalid.mjs';

/**
 * What all rows of a cache have in common.
 * @typedef {{heads: number, keyDim: number, valueDim: number, dtype: string}} Shape
 */
/**
 * The arrays of one stored row, by name: `data`, or `packed`, `scales` and `biases`.
 * @typedef {Record<string, Uint8Array>} StoredRow
 */
/**
 * Rows as one append wrote them; `row` is asked for keys (role 0) or values (role 1) of one head.
 * @typedef {{count: number, row: (role: 0 | 1, head: number, index: number) => StoredRow}} Block
 */

/**
 * @param {Shape} shape
 * @param {0 | 1} role
 */
export function dimOf(shape, role) {
  return role === 0 ? shape.keyDim : shape.valueDim;
}

/**
 * @param {Shape} one
 * @param {Shape} other
 */
export function sameShape(one, other) {
  const { heads, keyDim, valueDim, dtype } = other;
  return one.heads === heads && one.keyDim === keyDim && one.valueDim === valueDim && one.dtype === dtype;
}

/**
 * Bytes of one unquantized row, keys and values of all heads.
 * @param {Shape} shape
 */
export function rowBytes({ heads, keyDim, valueDim, dtype }) {
  return heads * (keyDim + valueDim) * ITEM_BYTES[dtype];
}

/** Values that a caller hands over. */
export class WrittenBlock {
  /**
   * @param {number} count
   * @param {string} dtype
   * @param {(role: 0 | 1, head: number, index: number) => Float32Array} values
   */
  constructor(count, dtype, values) {
    this.count = count;
    this.dtype = dtype;
    this.values = values;
  }

  /**
   * @param {0 | 1} role
   * @param {number} head
   * @param {number} index
   */
  row(role, head, index) {
    return { data: encode(this.values(role, head, index), this.dtype) };
  }
}

/** The rows of another block, each quantized by itself (QC-2, AQ-2). */
export class QuantizedBlock {
  /** @type {Map<string, StoredRow>} Rows are looked at many times. */
  #known = new Map();

  /**
   * @param {Block} source
   * @param {{bits: number, groupSize: number, dtype: string}} options
   */
  constructor(source, { bits, groupSize, dtype }) {
    this.source = source;
    this.count = source.count;
    this.bits = bits;
    this.groupSize = groupSize;
    this.dtype = dtype;
  }

  /**
   * @param {0 | 1} role
   * @param {number} head
   * @param {number} index
   */
  row(role, head, index) {
    const key = `${role},${head},${index}`;
    const known = this.#known.get(key);
    if (known) return known;
    const values = decode(this.source.row(role, head, index).data, this.dtype);
    const row = quantizeRow(values, this.bits, this.groupSize, this.dtype);
    this.#known.set(key, row);
    return row;
  }
}

/** The rows of a saved cache. */
export class LoadedBlock {
  /**
   * @param {number} count
   * @param {number} heads
   * @param {StoredRow[][]} sides rows of keys and of values, head after head
   */
  constructor(count, heads, sides) {
    if (sides.some((side) => side.length !== heads * count)) {
      throw new InvalidArgument('the saved cache is damaged, save it again');
    }
    this.count = count;
    this.sides = sides;
  }

  /**
   * @param {0 | 1} role
   * @param {number} head
   * @param {number} index
   */
  row(role, head, index) {
    return this.sides[role][head * this.count + index];
  }
}

/** An immutable sequence of rows, each the row of some block. */
export class Rows {
  /** @param {readonly {block: Block, first: number, stop: number}[]} segments */
  constructor(segments = []) {
    this.segments = segments;
    this.count = segments.reduce((total, { first, stop }) => total + stop - first, 0);
  }

  /** @param {Block} block */
  static of(block) {
    return new Rows(block.count ? [{ block, first: 0, stop: block.count }] : []);
  }

  /**
   * Rows start .. stop - 1; what lies outside is left out, as array slices do.
   * @param {number} start
   * @param {number} stop
   */
  part(start, stop) {
    const segments = [];
    let at = 0;
    for (const { block, first, stop: end } of this.segments) {
      const low = Math.max(start - at, 0);
      const high = Math.min(stop - at, end - first);
      if (low < high) segments.push({ block, first: first + low, stop: first + high });
      at += end - first;
    }
    return new Rows(segments);
  }

  /** @param {...Rows} others */
  plus(...others) {
    return new Rows([this, ...others].flatMap((rows) => rows.segments));
  }

  /**
   * The same rows of other blocks; `change` is called once a block.
   * @param {(block: Block) => Block} change
   */
  mapBlocks(change) {
    const changed = new Map(this.segments.map(({ block }) => [block, null]));
    for (const block of changed.keys()) changed.set(block, /** @type {any} */ (change(block)));
    const changedBlock = (/** @type {Block} */ block) => /** @type {any} */ (changed.get(block));
    return new Rows(this.segments.map((segment) => ({ ...segment, block: changedBlock(segment.block) })));
  }

  /**
   * All rows of one side, head after head: the order of an array `[1, heads, rows, ...]`.
   * @param {0 | 1} role
   * @param {number} heads
   */
  side(role, heads) {
    const rows = [];
    for (let head = 0; head < heads; head += 1) {
      for (const { block, first, stop } of this.segments) {
        for (let index = first; index < stop; index += 1) rows.push(block.row(role, head, index));
      }
    }
    return rows;
  }
}
