// @ts-check
// What the caches have in common, and how they grow (KC, QC).

import { InvalidArgument } from './invalid.mjs';
import { rowBytes, Rows, sameShape } from './rows.mjs';

/** @typedef {import('./rows.mjs').Shape} Shape */
/** @typedef {import('./rows.mjs').Block} Block */
/** @typedef {'plain' | 'chunked' | 'rotating' | 'quantized' | 'recurrent' | 'composite'} Kind */

const GROWTH_STEP = 256; // KC-1: rows by which a buffer grows

/**
 * @param {number} capacity
 * @param {number} needed
 */
export function grown(capacity, needed) {
  return Math.max(capacity, Math.ceil(needed / GROWTH_STEP) * GROWTH_STEP);
}

/**
 * One layer's cache. The defaults are those of a cache without rows. What a pass may ask are the four getters
 * here, which count it: a container that is disarmed must look at no layer (CT-11).
 */
export class Cache {
  static looks = 0;

  /** @param {Kind} kind */
  constructor(kind) {
    this.own = { kind };
  }

  get kind() {
    Cache.looks += 1;
    return this.own.kind;
  }

  /**
   * Positions written so far; null where no offset is maintained.
   * @returns {number | null}
   */
  get offset() {
    Cache.looks += 1;
    return this.ownOffset();
  }

  /**
   * Key and value head dim of the one key and the one value array held (HD-1).
   * @returns {[number, number] | null}
   */
  get headDims() {
    Cache.looks += 1;
    return this.ownHeadDims();
  }

  /** Whether no row that was written has been dropped (QP-2). */
  get holdsEveryRow() {
    Cache.looks += 1;
    return this.rows === this.ownOffset();
  }

  /** @returns {number | null} */
  ownOffset() {
    return null;
  }

  /** @returns {[number, number] | null} */
  ownHeadDims() {
    return null;
  }

  /**
   * How many rows a reader gets.
   * @returns {any} a number or null
   */
  get rows() {
    return null;
  }

  get trimmable() {
    return false;
  }

  /**
   * Takes rows off the end; how many were taken.
   * @param {number} _rows
   */
  trim(_rows) {
    return 0;
  }

  get empty() {
    return true;
  }

  get nbytes() {
    return 0;
  }

  /**
   * A quantized cache with these rows; this cache stays as it is (MQ-5, MQ-6).
   * @param {number} _bits
   * @param {number} _groupSize what was requested: the conversion resolves it
   * @returns {Cache}
   */
  toQuantized(_bits, _groupSize) {
    throw new InvalidArgument(`a ${this.own.kind} cache cannot be quantized; convert plain caches only. QP-1`);
  }

  /**
   * A cache of its own with the same content (QC-9).
   * @returns {this}
   */
  copy() {
    return Object.assign(Object.create(Object.getPrototypeOf(this)), this); // every field is immutable
  }
}

/** A cache whose reader gets the rows between a start position and the offset, in order (KC-1). */
export class RowCache extends Cache {
  position = 0; // positions written so far
  startPosition = 0; // of the first row held
  capacity = 0;
  /** @type {Shape | null} Of the rows written; null before the first write. */
  shape = null;
  /** Rows from the start position on; those beyond the offset are invisible. */
  stored = new Rows();

  /**
   * Writes the block's rows behind the offset; how many rows a reader gets back.
   * @param {Block} block
   * @param {Shape} shape
   */
  append(block, shape) {
    this.takeShape(shape);
    this.write(Rows.of(this.asStored(block)));
    this.position += block.count;
    this.allocate();
    return this.rows;
  }

  /** @param {Rows} added */
  write(added) {
    this.stored = this.fetch().plus(added);
  }

  allocate() {
    this.capacity = grown(this.capacity, this.rows);
  }

  /** @param {Shape} shape */
  takeShape(shape) {
    if (this.shape !== null && !sameShape(this.shape, shape)) {
      throw new InvalidArgument('rows of another shape are in the cache; write the same shape');
    }
    this.shape = shape;
  }

  /**
   * @param {Block} block
   * @returns {Block}
   */
  asStored(block) {
    return block;
  }

  fetch() {
    return this.stored.part(0, this.rows);
  }

  /**
   * Moves only the offset; a negative number trims nothing (QC-4).
   * @param {number} rows
   */
  trim(rows) {
    const trimmed = Math.max(0, Math.min(this.rows, rows));
    this.position -= trimmed;
    return trimmed;
  }

  get trimmable() {
    return true;
  }

  /** @returns {number} */
  get rows() {
    return this.position - this.startPosition;
  }

  get empty() {
    return this.rows === 0;
  }

  get rowBytes() {
    return this.shape === null ? 0 : rowBytes(this.shape);
  }

  get nbytes() {
    return this.capacity * this.rowBytes;
  }

  ownOffset() {
    return this.position;
  }

  /** @returns {[number, number] | null} */
  ownHeadDims() {
    return this.shape === null ? null : [this.shape.keyDim, this.shape.valueDim];
  }
}
