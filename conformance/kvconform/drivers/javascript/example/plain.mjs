// @ts-check
// The plain cache, and the chunked one that drops rows at its front (KC-1, KC-3).

import { RowCache } from './cache.mjs';
import { QuantizedCache } from './quantized.mjs';

/** Keeps every row. */
export class PlainCache extends RowCache {
  /** @param {import('./cache.mjs').Kind} [kind] */
  constructor(kind = 'plain') {
    super(kind);
  }

  /**
   * @param {number} bits
   * @param {number} groupSize
   * @returns {import('./cache.mjs').Cache}
   */
  toQuantized(bits, groupSize) {
    return QuantizedCache.from(this, bits, groupSize);
  }
}

/** Can drop its front: then holds the newest `chunkSize` rows, at absolute positions (KC-3). */
export class ChunkedCache extends PlainCache {
  /** @param {number} chunkSize */
  constructor(chunkSize) {
    super('chunked');
    this.chunkSize = chunkSize;
  }

  dropFront() {
    const dropped = this.rows - this.chunkSize;
    if (dropped <= 0) return;
    this.stored = this.stored.part(dropped, this.rows);
    this.startPosition += dropped;
    this.capacity = 0; // the rows kept move to an array of their own
    this.allocate();
  }
}
