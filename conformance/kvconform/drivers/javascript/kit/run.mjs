// @ts-check
// One scenario in, one observation out.

import { runCache } from './cache.mjs';
import { runContainer } from './container.mjs';
import { Refused, textOf, Unsupported } from './errors.mjs';
import { runIterate } from './iterate.mjs';
import { runQuantize, runResolve } from './numbers.mjs';
import { readScenario } from './scenario.mjs';

/** @typedef {import('./index.mjs').Implementation<any, any, any>} Impl */

/** @type {Record<string, (impl: Impl, scenario: any) => any>} */
const KINDS = {
  resolve: runResolve,
  quantize: runQuantize,
  cache: runCache,
  container: runContainer,
  iterate: runIterate,
};

/**
 * The observation of a scenario, as it goes over the wire. Throws `Refused`, `Unsupported`, `BadRequest`, or
 * whatever else goes wrong.
 * @param {Impl} impl
 * @param {any} scenario decoded JSON; what is left out has the defaults of the schema
 * @returns {any}
 */
export function runScenario(impl, scenario) {
  const kind = scenario?.kind;
  const declared = impl.info.capabilities.kinds ?? Object.keys(KINDS);
  if (kind === 'generate' || (Object.hasOwn(KINDS, kind) && !declared.includes(kind))) {
    throw new Unsupported(`this driver answers no ${kind} scenarios`);
  }
  const read = readScenario(scenario, 'scenario');
  return KINDS[read.kind](impl, read);
}

/**
 * The observation of a scenario, a refusal included: for tests that read vectors.
 * @param {Impl} impl
 * @param {any} scenario
 * @returns {any}
 */
export function answer(impl, scenario) {
  try {
    return runScenario(impl, scenario);
  } catch (error) {
    if (!impl.refuses(error) && !(error instanceof Refused)) throw error;
    return { kind: 'refused', message: textOf(error) };
  }
}
