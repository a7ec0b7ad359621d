// @ts-check
// `iterate` scenarios: turns of a token iterator over the scripted model, and their trace (contract, section 6).

import { promptTokens } from './arithmetic.mjs';
import { Unsupported } from './errors.mjs';
import { build, numberLayers } from './layers.mjs';
import { Registry } from './looks.mjs';
import { ScriptedModel } from './model.mjs';
import { Request } from './players.mjs';
import { planOf } from './prefill.mjs';
import { PARAMETERS } from './scenario.mjs';
import { stepError } from './steps.mjs';

/** @typedef {import('./index.mjs').Implementation<any, any, any>} Impl */

/**
 * One record a turn.
 * @param {Impl} impl
 * @param {any} scenario
 */
export function runIterate(impl, scenario) {
  const bench = new Bench(impl, scenario);
  return { kind: 'iterate', turns: scenario.turns.map((/** @type {any} */ turn) => bench.play(turn)) };
}

/** The caller of one scenario: its list, its container, the model, and the objects met, over all turns. */
class Bench {
  /**
   * @param {Impl} impl
   * @param {any} scenario
   */
  constructor(impl, { layers, given, built, model, observe }) {
    const slots = numberLayers(layers);
    const list = slots.map((slot) => build(impl, slot));
    this.impl = impl;
    this.features = new Set(impl.info.capabilities.features ?? []);
    this.registry = new Registry(impl, observe);
    this.registry.meetAll(list);
    this.model = new ScriptedModel(impl, slots, list, { script: model, plan: planOf(impl.info.dialect) });
    this.caller = given === 'model' ? null : [...list];
    const options = { bits: built.bits, groupSize: built.group_size };
    /** The container that the caller has. */
    const hasContainer = given === 'container' || given === 'both';
    this.kept = this.caller && hasContainer ? impl.makeContainer(this.caller, options) : null;
    /** What the next iterator is handed. */
    this.passed = { list: given === 'container' ? null : this.caller, container: this.kept };
  }

  /** @param {any} turn */
  play(turn) {
    /** @type {any[]} */
    const trace = [];
    this.model.trace = trace;
    this.model.lastSeen = [];
    const player = new Player(this.impl, trace, this.features);
    /** @type {Record<string, any>} */
    const outcome = { trace };
    try {
      player.play(this.request(turn, player), turn.nexts, () => this.handOver(player.iterator));
    } catch (error) {
      outcome.error = stepError(this.impl, error);
    }
    const { iterator } = player;
    if (iterator !== null) Object.assign(outcome, { count: this.impl.count(iterator), prefill_times: player.times() });
    return { ...outcome, holders: this.registry.meetHolders(this.lists(iterator)), objects: this.registry.views() };
  }

  /**
   * @param {any} turn
   * @param {Player} player
   */
  request(turn, player) {
    if (turn.cache === 'caller-list') this.passed = { list: this.caller ?? this.model.answered, container: null };
    const { prefill_step, max_tokens } = turn.parameters;
    const taken = turn.form === 'sampler-first' ? { ...PARAMETERS, prefill_step, max_tokens } : turn.parameters;
    const given = {
      turn,
      prompt: promptTokens(turn.prompt, this.model.script.vocab),
      parameters: parametersOf(taken),
      model: this.model,
      ...this.passed,
    };
    return new Request(given, player.listeners);
  }

  /**
   * The caller keeps the first iterator's own container, and passes it on from now on.
   * @param {any} iterator
   */
  handOver(iterator) {
    if (this.passed.container === null) this.kept = this.impl.containerOf(iterator);
    this.passed = { list: null, container: this.kept };
  }

  /**
   * Each holder's current list, in the order in which new objects are numbered.
   * @param {any} iterator
   */
  lists(iterator) {
    /** @type {Record<string, readonly any[]>} */
    const lists = {};
    if (this.kept !== null) {
      lists.container = this.impl.layers(iterator === null ? this.kept : this.impl.containerOf(iterator));
      lists.alias = this.impl.layers(this.kept);
    }
    if (this.caller !== null) lists.caller = this.caller;
    return lists;
  }
}

/**
 * One turn: the iterator, and the events that belong to asking it. A lazy iterator prefills when it is first asked:
 * it counts as built from then on, and that `next` is logged behind the prefill.
 */
class Player {
  /**
   * @param {Impl} impl
   * @param {any[]} trace
   * @param {Set<string>} features
   */
  constructor(impl, trace, features) {
    this.impl = impl;
    this.trace = trace;
    this.lazy = !features.has('eager');
    this.awaited = false;
    this.iterator = null;
    this.prefillTime = null;
    const tellsSamples = features.has('processors');
    this.listeners = {
      impl,
      trace,
      onSample: () => !(tellsSamples && this.processed) && this.prefilled(),
      onDidSample: () => tellsSamples && this.prefilled(),
    };
  }

  /**
   * @param {Request} request
   * @param {number} nexts
   * @param {() => void} onBuilt
   */
  play(request, nexts, onBuilt) {
    if (this.lazy && nexts === 0) throw new Unsupported('construction runs no prefill here; ask for a token');
    this.processed = request.processor !== null || request.parameters.repetitionPenalty !== null;
    const iterator = this.impl.makeIterator(/** @type {any} */ (request));
    const built = () => {
      this.iterator = iterator;
      this.prefillTime = this.impl.prefillTime(iterator);
      onBuilt();
    };
    if (!this.lazy) built();
    for (let asked = 0; asked < nexts; asked += 1) {
      const token = this.ask(iterator, this.lazy && asked === 0);
      if (this.lazy && asked === 0) built();
      this.trace.push(token === null ? { event: 'end' } : { event: 'token', token });
    }
  }

  /**
   * @param {any} iterator
   * @param {boolean} prefills
   */
  ask(iterator, prefills) {
    this.awaited = true;
    if (!prefills) this.prefilled();
    const token = this.impl.next(iterator);
    this.prefilled();
    return token;
  }

  prefilled() {
    if (this.awaited) this.trace.push({ event: 'next' });
    this.awaited = false;
  }

  times() {
    return this.prefillTime === null ? null : [this.prefillTime, this.impl.prefillTime(this.iterator)];
  }
}

/** @param {any} read */
function parametersOf(read) {
  return {
    maxTokens: read.max_tokens,
    bits: read.bits,
    groupSize: read.group_size,
    start: read.start,
    prefillStep: read.prefill_step,
    repetitionPenalty: read.repetition_penalty,
    repetitionContextSize: read.repetition_context_size,
  };
}
