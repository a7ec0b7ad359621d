// @ts-check
// The rotating (sliding-window) cache (KC-2).

import { grown, RowCache } from './cache.mjs';
import { InvalidArgument } from './invalid.mjs';
import { planted } from './plant.mjs';
import { QuantizedCache } from './quantized.mjs';

/** @typedef {import('./rows.mjs').Rows} Rows */

/** Keeps its first `keep` rows and the newest, `maxSize` in all, in an order of its own (KC-2). */
export class RotatingCache extends RowCache {
  /**
   * @param {number} maxSize
   * @param {number} keep
   */
  constructor(maxSize, keep) {
    super('rotating');
    if (keep < 0 || keep >= maxSize) throw new InvalidArgument(`keep ${keep} is not below the window ${maxSize}`);
    this.maxSize = maxSize;
    this.keep = keep;
    this.oldest = keep; // index of the row that the next overwrite hits
  }

  /** @param {Rows} added */
  write(added) {
    if (added.count === 1) this.writeOne(added);
    else this.writeMany(added);
  }

  /**
   * At most maxSize - 1 old rows stay before the new ones.
   * @param {Rows} added
   */
  writeMany(added) {
    this.stored = this.newest(this.maxSize - 1).plus(added);
    this.oldest = this.keep;
  }

  /** @param {Rows} row */
  writeOne(row) {
    if (this.stored.count > this.maxSize) {
      this.stored = this.newest(this.maxSize);
      this.oldest = this.keep;
    }
    if (this.stored.count < this.maxSize) {
      this.stored = this.stored.plus(row);
      return;
    }
    this.stored = this.stored.part(0, this.oldest).plus(row, this.stored.part(this.oldest + 1, this.maxSize));
    this.oldest = this.oldest + 1 < this.maxSize ? this.oldest + 1 : this.keep;
  }

  /**
   * In time order, cut to `limit` rows: the first `keep` and the newest of the others.
   * @param {number} limit
   * @returns {Rows}
   */
  newest(limit) {
    const { stored: all, keep, oldest } = this;
    const inTimeOrder = all.part(0, keep).plus(all.part(oldest, all.count), all.part(keep, oldest));
    const surplus = all.count - limit;
    return surplus <= 0 ? inTimeOrder : inTimeOrder.part(0, keep).plus(inTimeOrder.part(keep + surplus, all.count));
  }

  allocate() {
    this.capacity = Math.max(this.rows, Math.min(this.maxSize, grown(this.capacity, this.rows)));
  }

  fetch() {
    return this.stored;
  }

  get rows() {
    return this.stored.count;
  }

  get trimmable() {
    return this.position < this.maxSize; // no row has been overwritten yet
  }

  /** @param {number} rows */
  trim(rows) {
    if (!this.trimmable) return 0;
    const trimmed = super.trim(rows);
    this.stored = this.stored.part(0, this.position);
    return trimmed;
  }

  /**
   * @param {number} bits
   * @param {number} groupSize
   * @returns {import('./cache.mjs').Cache}
   */
  toQuantized(bits, groupSize) {
    return planted('convert-rotating')
      ? QuantizedCache.from(this, bits, groupSize)
      : super.toQuantized(bits, groupSize);
  }
}
