// @ts-check
// Generation parameters with the sampler and the processor that they give (IT-0, PS). Scenarios are greedy, so
// there is no sampling at a temperature here.

/**
 * Picks the next token.
 * @typedef {{sample: (logits: Float32Array) => number}} Sampler
 */
/**
 * Changes logits before sampling and is told what was sampled.
 * @typedef {object} Processor
 * @property {(tokens: readonly number[]) => void} prompt
 * @property {(logits: Float32Array) => Float32Array} process
 * @property {(token: number) => void} didSample
 */

/**
 * The lowest index of the highest logit (PS-2).
 * @implements {Sampler}
 */
export class ArgmaxSampler {
  /** @param {Float32Array} logits */
  sample(logits) {
    let best = 0;
    for (let token = 1; token < logits.length; token += 1) if (logits[token] > logits[best]) best = token;
    return best;
  }
}

/**
 * Makes tokens of the latest `contextSize` ones less likely (PS-3).
 * @implements {Processor}
 */
export class RepetitionPenaltyProcessor {
  /** @type {number[]} */
  #context = [];

  /**
   * @param {number} penalty
   * @param {number} contextSize
   */
  constructor(penalty, contextSize) {
    this.penalty = penalty;
    this.contextSize = contextSize;
  }

  /** @param {readonly number[]} tokens */
  prompt(tokens) {
    this.#context = tokens.slice(-this.contextSize);
  }

  /** @param {Float32Array} logits */
  process(logits) {
    const penalised = Float32Array.from(logits);
    for (const token of new Set(this.#context)) {
      penalised[token] = logits[token] > 0 ? logits[token] / this.penalty : logits[token] * this.penalty;
    }
    return penalised;
  }

  /** @param {number} token */
  didSample(token) {
    this.#context = [...this.#context, token].slice(-this.contextSize);
  }
}

/**
 * @typedef {object} Options
 * @property {number | null} [maxTokens]
 * @property {number | null} [bits]
 * @property {number} [groupSize]
 * @property {number} [start]
 * @property {number} [prefillStep]
 * @property {number | null} [repetitionPenalty]
 * @property {number} [repetitionContextSize]
 */

export class GenerateParameters {
  /** @param {Options} options */
  constructor(options = {}) {
    this.maxTokens = options.maxTokens ?? null;
    this.bits = options.bits ?? null;
    this.groupSize = options.groupSize ?? 64;
    this.start = options.start ?? 0;
    this.prefillStep = options.prefillStep ?? 512;
    this.repetitionPenalty = options.repetitionPenalty ?? null;
    this.repetitionContextSize = options.repetitionContextSize ?? 20;
  }

  /** @returns {Sampler} */
  sampler() {
    return new ArgmaxSampler();
  }

  /** @returns {Processor | null} */
  processor() {
    const { repetitionPenalty: penalty, repetitionContextSize: contextSize } = this;
    return penalty === null ? null : new RepetitionPenaltyProcessor(penalty, contextSize);
  }
}
