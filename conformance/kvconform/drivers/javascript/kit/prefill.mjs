// @ts-check
// How a prompt is cut into chunks, by the plan that the dialect declares (PR-6).

/** @type {Readonly<Record<string, string>>} */
const PLANS = Object.freeze({
  proposal: 'window',
  'mlx-lm': 'reserve-one',
  'mlx-lm-0.29': 'reserve-one',
  'mlx-lm-0.28': 'reserve-one',
  'mlx-lm-0.26': 'window',
  'mlx-swift-lm': 'balanced',
  'mlx-swift-lm-3.31.4': 'window',
});

/**
 * The prefill plan of a dialect: a name, or all parameters spelled out.
 * @param {string | Record<string, any>} dialect
 * @returns {string}
 */
export function planOf(dialect) {
  return (typeof dialect === 'string' ? PLANS[dialect] : dialect.prefill) ?? 'window';
}

/**
 * Chunk lengths that add up to the prompt; the last one is what a normal step gets. No chunk is empty.
 * @param {number} length
 * @param {number} window
 * @param {string} plan
 */
export function chunkLengths(length, window, plan) {
  if (length === 0) return [];
  if (plan === 'reserve-one') return [...windows(length - 1, window), 1];
  if (plan === 'balanced') return length <= window ? [length] : [...balanced(length - 1, window), 1];
  return windows(length, window);
}

/**
 * Whole windows while more than one remains, then the rest.
 * @param {number} length
 * @param {number} window
 */
function windows(length, window) {
  const lengths = [];
  let left = length;
  for (; left > window; left -= window) lengths.push(window);
  return left > 0 ? [...lengths, left] : lengths;
}

/**
 * As few chunks as possible, as equal as possible, longer ones first.
 * @param {number} length
 * @param {number} window
 */
function balanced(length, window) {
  const chunks = Math.ceil(length / window);
  return Array.from({ length: chunks }, (_, i) => Math.floor(length / chunks) + (i < length % chunks ? 1 : 0));
}
