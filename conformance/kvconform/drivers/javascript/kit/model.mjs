// @ts-check
// The scripted model of `iterate` scenarios: counts its calls, writes rows, answers with peaked logits, and logs
// every call, so that the trace shows what an iterator did (contract, section 6).

import { chain, chainAll, STATE_MODULUS } from './arithmetic.mjs';
import { PrepareFailed } from './errors.mjs';
import { NOTHING, recurrentNumber, signatures, writeRows } from './layers.mjs';
import { chunkLengths } from './prefill.mjs';

/** @typedef {import('./index.mjs').Implementation<any, any, any>} Impl */

/** @type {Readonly<Record<string, number>>} */
const CODES = Object.freeze({ plain: 1, rotating: 2, recurrent: 4, chunked: 6 });
const QUANTIZED = 3;
const COMPOSITE = 5;

/** The logits of one call, `[1, rows, vocab]`; a row is computed when it is looked at. */
export class Logits {
  /**
   * @param {number} seen
   * @param {readonly number[]} tokens
   * @param {number} vocab
   * @param {boolean} ties
   */
  constructor(seen, tokens, vocab, ties) {
    this.seen = seen;
    this.tokens = tokens;
    this.vocab = vocab;
    this.ties = ties;
  }

  get rows() {
    return this.tokens.length;
  }

  /**
   * The logits `[vocab]` of one position.
   * @param {number} index
   */
  row(index) {
    const peak = chain(chain(this.seen, this.tokens[index]), index) % this.vocab;
    const middle = Math.floor(this.vocab / 2);
    const logits = new Float32Array(this.vocab);
    for (let token = 0; token < this.vocab; token += 1) {
      const distance = (token - peak + this.vocab) % this.vocab;
      logits[token] = middle - (this.ties ? distance >> 1 : distance);
    }
    return logits;
  }
}

export class ScriptedModel {
  /**
   * @param {Impl} impl
   * @param {import('./layers.mjs').Slot[]} slots
   * @param {any[]} list the objects built from the scenario's layers
   * @param {{script?: any, plan?: string}} options
   */
  constructor(impl, slots, list, { script = {}, plan = 'window' } = {}) {
    this.impl = impl;
    this.slots = slots;
    this.list = list;
    this.script = script;
    this.plan = plan;
    /** @type {any[]} Where the events of the current turn go. */
    this.trace = [];
    /** @type {any[] | null} The first list that was answered with. */
    this.answered = null;
    /** @type {readonly any[]} The list that the last call found. */
    this.lastSeen = [];
    this.requests = 0;
    this.calls = 0;
  }

  /** A new list of the scenario's layers. */
  newCache() {
    this.requests += 1;
    this.trace.push({ event: 'new-cache' });
    const fresh = [...this.list];
    this.answered ??= fresh;
    return fresh;
  }

  /**
   * One forward pass that also writes to the caches.
   * @param {readonly (readonly number[])[]} tokens `[1, length]`
   * @param {readonly any[] | null} cache the current list, or none
   * @param {number | null} state
   */
  call(tokens, cache, state) {
    if (tokens.length !== 1 || typeof tokens[0] === 'number') {
      throw new Error(`the model was called with ${JSON.stringify(tokens)}; a leading batch axis of 1 is due`);
    }
    const row = [...tokens[0]];
    const list = cache ?? [];
    this.lastSeen = list;
    const looks = list.map((each) => this.impl.look(each, NOTHING));
    this.trace.push({
      event: 'call',
      tokens: row,
      offsets: looks.map((look) => look.offset ?? null),
      caches: signatures(this.impl, list),
      state,
      no_cache: cache === null,
    });
    const seen = chain(this.foldAll(chainAll(this.script.seed), looks), state === null ? 0 : state + 1);
    const number = this.calls++;
    this.slots.slice(0, list.length).forEach((slot, i) => writeRows(this.impl, slot, list[i], row.length, number));
    const logits = new Logits(seen, row, this.script.vocab, this.script.ties);
    return { logits, state: this.nextState(number, state, row.at(-1) ?? 0) };
  }

  /**
   * The prefill: feeds the prompt, answers with the remaining tokens or with the result of the last call.
   * @param {readonly number[]} tokens
   * @param {readonly any[]} cache
   * @param {number} window
   * @returns {any}
   */
  prepare(tokens, cache, window) {
    this.trace.push({ event: 'prepare', length: tokens.length, window });
    const how = this.script.prepare;
    if (how === 'raise') throw new PrepareFailed();
    const chunks = cut(tokens, chunkLengths(tokens.length, window, this.plan));
    if (chunks.length === 0) return { tokens: [] };
    if (how === 'tokens') {
      const last = /** @type {readonly number[]} */ (chunks.pop());
      this.feed(chunks, cache, false);
      return { tokens: last };
    }
    const result = this.feed(chunks, cache, how === 'logits');
    return how === 'logits' ? { result } : { tokens: [] };
  }

  /**
   * Calls itself on every chunk; the last result.
   * @param {readonly (readonly number[])[]} chunks
   * @param {readonly any[]} cache
   * @param {boolean} withState
   */
  feed(chunks, cache, withState) {
    /** @type {{logits: Logits, state: number | null} | null} */
    let result = null;
    for (const chunk of chunks) {
      result = this.call([chunk], cache.length ? cache : null, withState && result ? result.state : null);
    }
    return result;
  }

  /**
   * @param {number} seen
   * @param {readonly any[]} looks
   * @returns {number}
   */
  foldAll(seen, looks) {
    return looks.reduce((hash, look) => this.fold(hash, look), seen);
  }

  /**
   * The hash with everything folded in that the model may tell about one layer.
   * @param {number} seen
   * @param {any} look
   * @returns {number}
   */
  fold(seen, look) {
    if (look.kind === 'composite') {
      const inner = look.children.map((/** @type {any} */ child) => this.impl.look(child, NOTHING));
      return this.foldAll(chain(chain(seen, COMPOSITE), inner.length), inner);
    }
    const number = look.kind === 'recurrent' ? recurrentNumber(look) : (look.offset ?? 0);
    if (look.kind === 'quantized') return [QUANTIZED, look.groupSize, look.bits, number].reduce(chain, seen);
    return chain(chain(seen, CODES[look.kind]), number);
  }

  /**
   * The state in the result of call number `call`.
   * @param {number} call
   * @param {number | null} state
   * @param {number} lastToken
   */
  nextState(call, state, lastToken) {
    const mode = this.script.state;
    if (mode === 'none' || (mode === 'alternate' && call % 2 === 1)) return null;
    return chainAll(state ?? 0, lastToken) % STATE_MODULUS;
  }
}

/**
 * The tokens in chunks of these lengths.
 * @param {readonly number[]} tokens
 * @param {readonly number[]} lengths
 */
function cut(tokens, lengths) {
  let start = 0;
  return lengths.map((length) => tokens.slice(start, (start += length)));
}
