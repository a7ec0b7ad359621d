// @ts-check
// How errors of single steps are recorded: the scenario goes on after them.

import { BadRequest, PrepareFailed, textOf, Unsupported } from './errors.mjs';

/** @typedef {import('./index.mjs').Implementation<any, any, any>} Impl */

/**
 * The record of an error that ended one step or turn. What is no matter of one step is thrown again.
 * @param {Impl} impl
 * @param {unknown} error
 */
export function stepError(impl, error) {
  if (error instanceof Unsupported || error instanceof BadRequest) throw error;
  const kind = error instanceof PrepareFailed ? 'model' : impl.refuses(error) ? 'refused' : 'internal';
  if (kind === 'internal') console.error(error); // stderr is shown beside a failure
  return { kind, message: textOf(error) };
}

/**
 * The fields that a step gives to its record; an error is one of them.
 * @template {object} T
 * @param {Impl} impl
 * @param {() => T} step
 * @returns {T | {error: {kind: string, message: string}}}
 */
export function attempt(impl, step) {
  try {
    return step();
  } catch (error) {
    return { error: stepError(impl, error) };
  }
}
