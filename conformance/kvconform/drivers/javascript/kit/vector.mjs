// @ts-check
// Vectors: a scenario, the answer that is expected, and for whom it holds (docs/vectors.md).

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Texts, times and spare capacity are each implementation's own. */
const NOT_COMPARED = new Set(['message', 'prefill_times', 'nbytes']);

export class Vector {
  /** @param {any} data what the file holds */
  constructor({ id, comment, dialects, needs, scenario, expected }) {
    this.id = id;
    this.comment = comment;
    this.dialects = dialects;
    this.needs = needs ?? [];
    this.scenario = scenario;
    this.expected = expected;
  }

  /**
   * Every vector in a folder such as goldens/vectors.
   * @param {string} folder
   */
  static all(folder) {
    /** @type {string[]} */
    const names = readdirSync(folder, { recursive: true });
    const files = names.filter((name) => name.endsWith('.json')).sort();
    return files.map((name) => new Vector(JSON.parse(readFileSync(join(folder, name), 'utf8'))));
  }

  /**
   * Whether it holds for the dialect, and asks for nothing that is not declared.
   * @param {import('./index.mjs').Info} info
   */
  appliesTo({ dialect, capabilities }) {
    const { kinds, layers, features = [], bits, dtypes } = capabilities;
    /** @type {Record<string, readonly (string | number)[] | undefined>} */
    const declared = { kind: kinds, layer: layers, feature: features, bits, dtype: dtypes };
    const isMet = (/** @type {string} */ need) => {
      const [sort, name] = need.split(':');
      return declared[sort]?.some((one) => String(one) === name) ?? true; // what is left out means everything
    };
    const areMet = this.needs.every((/** @type {string} */ need) => need.split('|').some(isMet));
    return areMet && this.dialects.includes(dialect);
  }

  /**
   * Where an answer is not the expected one; null when it is.
   * @param {any} answer
   */
  difference(answer) {
    return firstDifference('answer', this.expected, JSON.parse(JSON.stringify(answer)));
  }
}

/**
 * @param {string} where
 * @param {any} wanted absent is null
 * @param {any} given
 * @returns {string | null}
 */
function firstDifference(where, wanted, given) {
  if (wanted === given) return null;
  if (!isComposite(wanted) || !isComposite(given) || wanted.length !== given.length) {
    return `${where} is ${JSON.stringify(given)}, expected ${JSON.stringify(wanted)}`;
  }
  for (const name of new Set([...Object.keys(wanted), ...Object.keys(given)])) {
    if (NOT_COMPARED.has(name) || (name === 'accesses' && !(name in wanted))) continue;
    if (name === 'error' && isError(wanted) && isError(given)) continue;
    const inside = firstDifference(`${where}.${name}`, wanted[name] ?? null, given[name] ?? null);
    if (inside) return inside;
  }
  return null;
}

/**
 * Any error is as good as another but the model's own.
 * @param {any} record
 */
function isError({ error }) {
  return isComposite(error) && error.kind !== 'model';
}

/** @param {any} value */
function isComposite(value) {
  return typeof value === 'object' && value !== null;
}
