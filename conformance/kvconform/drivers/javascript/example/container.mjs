// @ts-check
// The container: owns the cache list, shows replaced layers to whoever holds it, and latches the pass (CT).

import { isQuantizable, planPass } from './policy.mjs';

/** @typedef {import('./caches.mjs').Cache} Cache */

export class CacheContainer {
  #armed;

  /**
   * @param {readonly Cache[]} list stays the caller's (CT-3)
   * @param {number | null} [bits]
   */
  constructor(list, bits = null) {
    /** The current layers: ask again after a pass instead of keeping them. @type {readonly Cache[]} */
    this.layers = [...list];
    this.#armed = bits !== null && this.layers.some(isQuantizable); // CT-4, CT-5
  }

  /**
   * One pass with this call's options, unless disarmed; the first one that triggers is the last (CT-4).
   * @param {number | null} bits
   * @param {number} [groupSize]
   * @param {number} [start]
   */
  maybeQuantize(bits, groupSize = 64, start = 0) {
    if (!this.#armed) return; // CT-11: before any look at a layer
    const plan = planPass(this.layers, bits, groupSize, start);
    if (!plan.triggered) return;
    this.layers = plan.layers;
    this.#armed = false;
  }
}
