// @ts-check
// `container` scenarios: holders of the same layers, steps, and what each holder sees (contract, section 5).

import { Refused, Unsupported } from './errors.mjs';
import { build, NOTHING, numberLayers, writeRows } from './layers.mjs';
import { Registry } from './looks.mjs';
import { ScriptedModel } from './model.mjs';
import { attempt, stepError } from './steps.mjs';

/** @typedef {import('./index.mjs').Implementation<any, any, any>} Impl */
/**
 * @typedef {object} Holding
 * @property {() => Record<string, readonly any[]>} lists each holder's current list, in the order of numbering
 * @property {(step: any) => boolean | null} runPass what the pass answered
 * @property {number} requests how often the model was asked for a list
 */

/**
 * One record after building, then one per step.
 * @param {Impl} impl
 * @param {any} scenario
 */
export function runContainer(impl, scenario) {
  const bench = new Bench(impl, scenario);
  const steps = [bench.record({})];
  for (const step of scenario.steps) steps.push(bench.record(attempt(impl, () => STEPS[step.do](bench, step))));
  return { kind: 'container', list_requests: bench.holding.requests, steps };
}

/** The layers of one scenario, and whoever holds them. */
class Bench {
  /**
   * @param {Impl} impl
   * @param {any} scenario
   */
  constructor(impl, scenario) {
    this.impl = impl;
    this.counting = scenario.observe.accesses && (impl.info.capabilities.features ?? []).includes('accesses');
    this.registry = new Registry(impl, scenario.observe);
    this.slots = numberLayers(scenario.layers);
    const list = this.slots.map((slot) => build(impl, slot));
    this.registry.meetAll(list);
    /** @type {Holding} */
    this.holding =
      scenario.form === 'free' ? holdFree(impl, list, scenario) : holdContainer(impl, this.slots, list, scenario);
  }

  /** @param {object} outcome */
  record(outcome) {
    return { ...outcome, holders: this.registry.meetHolders(this.holding.lists()), objects: this.registry.views() };
  }

  /** @param {string} holder */
  listOf(holder) {
    const list = this.holding.lists()[holder];
    if (!list) throw new Unsupported(`there is no ${holder} with a list here: the model was asked for one`);
    return list;
  }

  /** @param {number[] | null} named */
  places(named) {
    const wrong = named?.find((place) => place >= this.slots.length);
    if (wrong !== undefined) throw new Refused(`a step names layer ${wrong}, there are ${this.slots.length}`);
    return named ?? [...this.slots.keys()];
  }
}

/** @type {Record<string, (bench: Bench, step: any) => object>} */
const STEPS = {
  append(bench, { rows, salt, layers, through }) {
    const list = bench.listOf(through);
    for (const place of bench.places(layers)) writeRows(bench.impl, bench.slots[place], list[place], rows, salt);
    return {};
  },

  trim(bench, { rows, layers }) {
    const list = bench.listOf('container');
    return { trimmed: bench.places(layers).map((place) => bench.impl.trim(list[place], rows)) };
  },

  'drop-front'(bench) {
    for (const cache of bench.listOf('container')) {
      if (bench.impl.look(cache, NOTHING).kind === 'chunked') bench.impl.dropFront(cache);
    }
    return {};
  },

  pass(bench, step) {
    const before = bench.counting ? bench.impl.accesses() : 0;
    /** @type {any} */
    let outcome;
    try {
      outcome = { returned: bench.holding.runPass(step) };
    } catch (error) {
      outcome = { error: stepError(bench.impl, error) };
    }
    return bench.counting ? { ...outcome, accesses: bench.impl.accesses() - before } : outcome;
  },
};

/**
 * A container over the caller's list, or over one that the model made; maybe a second container.
 * @param {Impl} impl
 * @param {import('./layers.mjs').Slot[]} slots
 * @param {any[]} list
 * @param {any} scenario
 * @returns {Holding}
 */
function holdContainer(impl, slots, list, { given, built, twin: wanted }) {
  const options = { bits: built.bits, groupSize: built.group_size };
  const second = [...list];
  const model = new ScriptedModel(impl, slots, list);
  const container = given === 'model' ? impl.makeContainerFromModel(model, options) : impl.makeContainer(list, options);
  const twin = wanted ? impl.makeContainer(second, options) : null;
  return {
    requests: model.requests,
    lists: () => ({
      container: impl.layers(container),
      alias: impl.layers(container),
      ...(given === 'model' ? {} : { caller: list }),
      ...(wanted ? { twin: impl.layers(twin) } : {}),
    }),
    runPass(step) {
      impl.containerPass(container, step.bits, step.group_size, step.start);
      return null;
    },
  };
}

/**
 * Lists and no container: the pass without memory.
 * @param {Impl} impl
 * @param {any[]} list
 * @param {any} scenario
 * @returns {Holding}
 */
function holdFree(impl, list, { twin: wanted }) {
  const twin = [...list];
  let working = list;
  return {
    requests: 0,
    lists: () => ({ container: working, alias: working, caller: list, ...(wanted ? { twin } : {}) }),
    runPass(step) {
      const answer = impl.freePass(working, step.bits, step.group_size, step.start);
      working = answer.list ?? working;
      return answer.returned;
    },
  };
}
