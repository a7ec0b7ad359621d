// @ts-check
// Looks at caches, and the numbers that stand for identity (contract, section 3).

import { wireName } from './implementation.mjs';
import { NOTHING } from './layers.mjs';

/** @typedef {import('./index.mjs').Implementation<any, any, any>} Impl */

/** Numbers every cache object that is met, and keeps it so that the number stays its own. */
export class Registry {
  /**
   * @param {Impl} impl
   * @param {import('./index.mjs').Observe} observe
   */
  constructor(impl, observe) {
    this.impl = impl;
    this.observe = observe;
    /** @type {any[]} */
    this.objects = [];
    /** @type {Map<any, number>} */
    this.numbers = new Map();
  }

  /**
   * The object's number; a new object gets the next one, then its new children get theirs.
   * @param {any} cache
   * @returns {number}
   */
  meet(cache) {
    const known = this.numbers.get(cache);
    const number = known ?? this.objects.length;
    if (known === undefined) {
      this.numbers.set(cache, number);
      this.objects.push(cache);
    }
    for (const child of this.impl.look(cache, NOTHING).children ?? []) this.meet(child);
    return number;
  }

  /**
   * @param {Iterable<any>} list
   * @returns {number[]}
   */
  meetAll(list) {
    return Array.from(list, (cache) => this.meet(cache));
  }

  /**
   * Every holder's layers by number; new objects are numbered in the order of the holders.
   * @param {Record<string, readonly any[]>} lists
   */
  meetHolders(lists) {
    return Object.fromEntries(Object.entries(lists).map(([name, list]) => [name, this.meetAll(list)]));
  }

  /** A look at every object met so far, by number. */
  views() {
    const views = [];
    for (let i = 0; i < this.objects.length; i += 1) views.push(this.view(this.objects[i])); // a look may meet children
    return views;
  }

  /** @param {any} cache */
  view(cache) {
    /** @type {Record<string, any>} */
    const view = {};
    for (const [field, value] of Object.entries(this.impl.look(cache, this.observe))) {
      if (value !== undefined) view[wireName(field)] = field === 'children' ? this.meetAll(value) : value;
    }
    return view;
  }
}
