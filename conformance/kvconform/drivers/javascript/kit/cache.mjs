// @ts-check
// `cache` scenarios: operations on one cache, and what each cache object shows then (contract, section 5).

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Refused } from './errors.mjs';
import { build, NOTHING, numberLayers, writeRows } from './layers.mjs';
import { Registry } from './looks.mjs';
import { attempt } from './steps.mjs';

/** @typedef {import('./index.mjs').Implementation<any, any, any>} Impl */
/** @typedef {import('./layers.mjs').Slot} Slot */

/**
 * One record for the fresh cache, then one per operation.
 * @param {Impl} impl
 * @param {any} scenario
 */
export function runCache(impl, scenario) {
  const bench = new Bench(impl, scenario);
  const records = [bench.record({})];
  for (const operation of scenario.operations) {
    records.push(bench.record(attempt(impl, () => ({ result: OPERATIONS[operation.op](bench, operation) ?? null }))));
  }
  return { kind: 'cache', records };
}

/** The cache under test and everything that came out of it. */
class Bench {
  /**
   * @param {Impl} impl
   * @param {any} scenario
   */
  constructor(impl, scenario) {
    const [slot] = numberLayers([scenario.layer]);
    this.impl = impl;
    this.registry = new Registry(impl, scenario.observe);
    /** @type {Map<any, Slot>} */
    this.slots = new Map();
    this.makeCurrent(build(impl, slot), slot);
  }

  /** @param {object} outcome */
  record(outcome) {
    return { ...outcome, current: this.registry.meet(this.current), objects: this.registry.views() };
  }

  /** @returns {Slot} */
  get slot() {
    return /** @type {Slot} */ (this.slots.get(this.current));
  }

  /**
   * @param {any} cache
   * @param {Slot} [slot]
   */
  makeCurrent(cache, slot = this.slot) {
    this.current = cache;
    this.keepSlot(cache, slot);
  }

  /** @param {{cache: any, rows: number | null}} exported */
  replace({ cache, rows }) {
    this.makeCurrent(cache);
    return rows;
  }

  /**
   * @param {any} cache
   * @param {Slot} slot
   */
  keepSlot(cache, slot) {
    this.registry.meet(cache);
    if (!this.slots.has(cache)) this.slots.set(cache, slot);
    const children = this.impl.look(cache, NOTHING).children ?? [];
    children.forEach((child, i) => slot.children[i] && this.keepSlot(child, slot.children[i]));
  }
}

/** @type {Record<string, (bench: Bench, operation: any) => number | null | void>} */
const OPERATIONS = {
  append: (bench, { rows, salt }) => writeRows(bench.impl, bench.slot, bench.current, rows, salt),
  trim: (bench, { rows }) => bench.impl.trim(bench.current, rows),
  convert: (bench, { bits, group_size: size }) => bench.makeCurrent(bench.impl.convert(bench.current, bits, size)),
  copy: (bench) => bench.makeCurrent(bench.impl.copy(bench.current)),
  'save-load': (bench) => saveAndLoad(bench),
  state: (bench) => bench.replace(bench.impl.stateRoundTrip(bench.current)),
  'drop-front': (bench) => bench.impl.dropFront(bench.current),
  select(bench, { cache }) {
    const { objects } = bench.registry;
    if (cache >= objects.length) throw new Refused(`there is no cache ${cache}; they are 0 to ${objects.length - 1}`);
    bench.current = objects[cache];
  },
};

/** @param {Bench} bench */
function saveAndLoad(bench) {
  const folder = mkdtempSync(join(tmpdir(), 'kvconform-'));
  try {
    return bench.replace(bench.impl.saveAndLoad(bench.current, join(folder, 'cache')));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
