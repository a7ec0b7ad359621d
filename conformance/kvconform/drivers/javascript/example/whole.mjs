// @ts-check
// Layers that hold no rows of their own: recurrent state, and composites of other caches (KC-4, KC-5).

import { Cache } from './cache.mjs';

/** Whole state arrays, replaced at every write; no offset, no rows, no trim (KC-4). */
export class RecurrentCache extends Cache {
  /** @param {number} slots */
  constructor(slots) {
    super('recurrent');
    /** @type {readonly (Float32Array | null)[]} */
    this.arrays = Array(slots).fill(null);
  }

  /** @param {readonly (Float32Array | null)[]} arrays */
  replace(arrays) {
    this.arrays = [...arrays];
  }

  get empty() {
    return this.arrays.every((array) => array === null);
  }

  get nbytes() {
    return this.arrays.reduce((total, array) => total + (array?.byteLength ?? 0), 0);
  }
}

/** Caches in one list entry (KC-5). */
export class CompositeCache extends Cache {
  /** @param {readonly Cache[]} children */
  constructor(children) {
    super('composite');
    this.children = children;
  }

  /** @param {number} rows */
  trim(rows) {
    return this.trimmable ? (this.children.map((child) => child.trim(rows)).at(-1) ?? 0) : 0;
  }

  get trimmable() {
    return this.children.every((child) => child.trimmable);
  }

  get empty() {
    return this.children.every((child) => child.empty);
  }

  get nbytes() {
    return this.children.reduce((total, child) => total + child.nbytes, 0);
  }

  copy() {
    const twin = super.copy();
    twin.children = this.children.map((child) => child.copy());
    return twin;
  }
}
