// @ts-check
// The token iterator: feeds a prompt through a model and hands out one token after the other (IT, PR, ST, NX).

import { CacheContainer } from './container.mjs';
import { checkBits } from './group_size.mjs';
import { InvalidArgument } from './invalid.mjs';
import { planted } from './plant.mjs';
import { GenerateParameters } from './sampling.mjs';

/** @typedef {import('./caches.mjs').Cache} Cache */
/** @typedef {readonly number[]} Tokens */
/**
 * The logits of one call, `[1, rows, vocab]`.
 * @typedef {{rows: number, row: (index: number) => Float32Array}} Logits
 */
/** @typedef {{logits: Logits, state: number | null}} ModelResult */
/** @typedef {{tokens: Tokens} | {result: ModelResult}} Prepared */
/**
 * @typedef {object} Model
 * @property {(tokens: Tokens[], cache: readonly Cache[] | null, state: number | null) => ModelResult} call
 * @property {(tokens: Tokens, cache: readonly Cache[], window: number) => Prepared} prepare
 * @property {() => Cache[]} newCache
 */
/**
 * @typedef {object} Options
 * @property {readonly Cache[] | null} [list] at most one of these two; none: the model is asked
 * @property {CacheContainer | null} [container]
 * @property {GenerateParameters} [parameters]
 * @property {import('./sampling.mjs').Processor | null} [processor] null: that of the parameters
 * @property {import('./sampling.mjs').Sampler | null} [sampler] null: that of the parameters
 * @property {(container: CacheContainer) => void} [onContainer] told before the prefill
 */

export class TokenIterator {
  #model;
  #parameters;
  #processor;
  #sampler;
  /** @type {number | null} */
  #state = null;
  #pending;

  /**
   * The general form. The prefill runs here (IT-1).
   * @param {Tokens} prompt
   * @param {Model} model
   * @param {Options} [options]
   */
  constructor(prompt, model, options = {}) {
    const { list = null, container = null, parameters = new GenerateParameters() } = options;
    check(list, container, parameters); // before the model is touched
    this.#model = model;
    this.#parameters = parameters;
    this.#processor = options.processor ?? parameters.processor(); // IT-4
    this.#sampler = options.sampler ?? parameters.sampler();
    this.container = container ?? new CacheContainer(list ?? model.newCache(), parameters.bits); // IT-2, CT-9
    options.onContainer?.(this.container);
    this.count = 0;
    const began = performance.now();
    this.#pending = this.#prepare(prompt);
    this.prefillTime = (performance.now() - began) / 1000;
  }

  /**
   * The sampler-first form: a sampler and no parameters but these two; it never quantizes (IT-5).
   * @param {Tokens} prompt
   * @param {Model} model
   * @param {import('./sampling.mjs').Sampler} sampler
   * @param {Options & {prefillStep?: number, maxTokens?: number | null}} options
   */
  static withSampler(prompt, model, sampler, { prefillStep, maxTokens, ...options } = {}) {
    const parameters = new GenerateParameters({ prefillStep, maxTokens });
    return new TokenIterator(prompt, model, { ...options, sampler, parameters });
  }

  /**
   * The deprecated form over a bare prompt array (IT-6).
   * @deprecated construct a TokenIterator with the same arguments
   * @param {Tokens} prompt
   * @param {Model} model
   * @param {Options & {warn?: (message: string) => void}} options
   */
  static fromPromptArray(prompt, model, { warn = console.warn, ...options } = {}) {
    warn('TokenIterator.fromPromptArray is deprecated; construct a TokenIterator with the same arguments');
    return new TokenIterator(prompt, model, options);
  }

  /**
   * The next token; null for ever once the limit is reached (NX-1).
   * @returns {number | null}
   */
  next() {
    if (this.#limitReached()) return null;
    const token = this.#pending;
    this.#pending = this.#step([token]); // NX-2: one token ahead
    this.count += 1;
    return token;
  }

  #limitReached() {
    const { maxTokens } = this.#parameters;
    if (maxTokens === null) return false;
    return planted('limit-off-by-one') ? this.count > maxTokens : this.count >= maxTokens;
  }

  /** @param {Tokens} prompt */
  #prepare(prompt) {
    this.#processor?.prompt(prompt); // PR-1
    const answer = this.#model.prepare(prompt, this.container.layers, this.#parameters.prefillStep); // PR-2
    if ('result' in answer) return this.#sample(answer.result.logits); // PR-4 `bare`: no call, no pass, no state
    if (answer.tokens.length === 0) throw new InvalidArgument('the prefill left no tokens and no logits. PR-5');
    return this.#step(answer.tokens); // PR-3
  }

  /** @param {Tokens} tokens */
  #step(tokens) {
    const { layers } = this.container;
    const result = this.#model.call([tokens], layers.length ? layers : null, this.#state); // ST-3
    this.#state = result.state; // ST-4
    const { bits, groupSize, start } = this.#parameters;
    this.container.maybeQuantize(bits, groupSize, start); // ST-1, IT-3
    return this.#sample(result.logits);
  }

  /** @param {Logits} logits */
  #sample(logits) {
    const last = logits.row(logits.rows - 1); // ST-5
    const token = this.#sampler.sample(this.#processor?.process(last) ?? last);
    this.#processor?.didSample(token); // PS-1
    return token;
  }
}

/**
 * @param {readonly Cache[] | null} list
 * @param {CacheContainer | null} container
 * @param {GenerateParameters} parameters
 */
function check(list, container, parameters) {
  const { bits, prefillStep } = parameters;
  if (list !== null && container !== null) throw new InvalidArgument('a list and a container are given; give one');
  if (prefillStep < 1) throw new InvalidArgument(`prefill step ${prefillStep} is below 1; give 512. PR-6`);
  if (bits !== null) checkBits(bits);
}
