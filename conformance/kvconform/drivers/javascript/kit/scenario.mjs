// @ts-check
// Reads scenarios: checks every field, refuses unknown ones, and fills in the defaults of the schema.

import { BadRequest } from './errors.mjs';
import { ITEM_BYTES } from './tensor.mjs';

const BAD_PARAMS = -32602;
const LARGEST = 2 ** 53;

/** @typedef {(value: any, path: string) => any} Reader */

/**
 * @param {string} path
 * @param {string} what
 * @returns {never}
 */
function bad(path, what) {
  throw new BadRequest(BAD_PARAMS, `${path}: ${what}`);
}

/**
 * @param {number} least
 * @param {number} most
 * @returns {Reader}
 */
const integer = (least, most) => (value, path) =>
  Number.isInteger(value) && value >= least && value <= most
    ? value
    : bad(path, `${value} is no integer in ${least}..${most}`);

/** @type {Reader} */
const bool = (value, path) => (typeof value === 'boolean' ? value : bad(path, `${value} is not true or false`));
/** @type {Reader} */
const text = (value, path) => (typeof value === 'string' ? value : bad(path, `${value} is no text`));
/** @type {Reader} */
const positiveNumber = (value, path) =>
  typeof value === 'number' && value > 0 ? value : bad(path, `${value} is no number above 0`);
/** @type {(...choices: any[]) => Reader} */
const oneOf = (...choices) => (value, path) =>
  choices.includes(value) ? value : bad(path, `${value} is not one of ${choices.join(', ')}`);
/** @type {(inner: Reader) => Reader} */
const orNull = (inner) => (value, path) => (value === null ? null : inner(value, path));
/** @type {(inner: Reader, least?: number, most?: number) => Reader} */
const list = (inner, least = 0, most = Infinity) => (value, path) =>
  Array.isArray(value) && value.length >= least && value.length <= most
    ? value.map((item, index) => inner(item, `${path}.${index}`))
    : bad(path, `is no list of ${least} to ${most} items`);

/**
 * An object with these fields: each a reader, or a reader and its default.
 * @param {Record<string, Reader | [Reader, any]>} fields
 * @returns {Reader}
 */
const record = (fields) => {
  /** @type {[string, Reader, any][]} */
  const known = Object.entries(fields).map(([name, field]) => {
    return Array.isArray(field) ? [name, ...field] : [name, field, undefined];
  });
  return (value, path) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) bad(path, 'is no object');
    for (const name of Object.keys(value)) if (!Object.hasOwn(fields, name)) bad(`${path}.${name}`, 'unknown field');
    /** @type {Record<string, any>} */
    const result = {};
    for (const [name, reader, standard] of known) {
      const given = value[name];
      if (given === undefined && standard === undefined) bad(`${path}.${name}`, 'is missing');
      result[name] = given === undefined ? standard : reader(given, `${path}.${name}`);
    }
    return result;
  };
};

/**
 * One of several objects, told apart by the field `tag`.
 * @param {string} tag
 * @param {Record<string, Record<string, Reader | [Reader, any]>>} variants
 * @returns {Reader}
 */
const tagged = (tag, variants) => {
  const readers = Object.fromEntries(
    Object.entries(variants).map(([name, fields]) => [name, record({ [tag]: text, ...fields })]),
  );
  return (value, path) => {
    const name = value?.[tag];
    const known = Object.keys(readers);
    if (!known.includes(name)) bad(`${path}.${tag}`, `${name} is not one of ${known.join(', ')}`);
    return readers[name](value, path);
  };
};

const whole = integer(-LARGEST, LARGEST);
const count = integer(0, 1_000_000);
const positive = integer(1, 1_000_000);
const dtype = oneOf('float32', 'float16', 'bfloat16');

// ---------------------------------------------------------------- layers

/** @type {Record<string, [Reader, any]>} */
const rows = { key_dim: [positive, 64], value_dim: [positive, 64], heads: [positive, 1], dtype: [dtype, 'float32'] };
/** @type {Reader} */
const layer = (value, path) => anyLayer(value, path);
const anyLayer = tagged('kind', {
  plain: { length: [count, 0], trim: [count, 0], ...rows },
  chunked: { length: [count, 0], chunk_size: [positive, 16], drop_front: [bool, false], ...rows },
  rotating: { length: [count, 0], max_size: [positive, 16], keep: [count, 0], singly: [bool, false], ...rows },
  quantized: { length: [count, 0], group_size: [whole, 64], bits: [whole, 4], ...rows },
  recurrent: { slots: [positive, 2], filled: [bool, true] },
  composite: { children: list(layer, 1, 8) },
});

// ---------------------------------------------------------------- kinds

const observe = record({ content: [bool, false], accounting: [bool, false], accesses: [bool, false] });
const NOTHING = Object.freeze({ content: false, accounting: false, accesses: false });
const built = record({ bits: [orNull(whole), null], group_size: [whole, 64] });
const BUILT = Object.freeze({ bits: null, group_size: 64 });
const anyTensor = record({ dtype: oneOf(...Object.keys(ITEM_BYTES)), shape: list(count), data: text });
/** @type {Reader} */
const tensor = (value, path) => {
  const read = anyTensor(value, path);
  const bytes = Buffer.from(read.data, 'base64');
  if (bytes.toString('base64') !== read.data) bad(`${path}.data`, 'is no base64 with padding');
  const due = [ITEM_BYTES[read.dtype], ...read.shape].reduce((product, length) => product * length);
  if (bytes.length !== due) bad(`${path}.data`, 'does not fill the shape');
  return read;
};

const operation = tagged('op', {
  append: { rows: positive, salt: [count, 0] },
  trim: { rows: whole },
  convert: { bits: whole, group_size: [whole, 64] },
  copy: {},
  'save-load': {},
  state: {},
  'drop-front': {},
  select: { cache: count },
});

const step = tagged('do', {
  append: {
    rows: positive,
    salt: [count, 0],
    layers: [orNull(list(count)), null],
    through: [oneOf('container', 'caller'), 'container'],
  },
  trim: { rows: whole, layers: [orNull(list(count)), null] },
  'drop-front': {},
  pass: { bits: [orNull(whole), null], group_size: [whole, 64], start: [whole, 0] },
});

/** @type {Record<string, [Reader, any]>} */
const parameterFields = {
  max_tokens: [orNull(whole), null],
  bits: [orNull(whole), null],
  group_size: [whole, 64],
  start: [whole, 0],
  prefill_step: [whole, 512],
  repetition_penalty: [orNull(positiveNumber), null],
  repetition_context_size: [positive, 20],
};
const parameters = record(parameterFields);
/** The parameters as they are when nobody says anything. */
export const PARAMETERS = Object.freeze(parameters({}, 'parameters'));

const model = record({
  seed: [count, 0],
  vocab: [integer(2, 65536), 61],
  prepare: [oneOf('tokens', 'logits', 'all', 'raise'), 'tokens'],
  state: [oneOf('none', 'always', 'alternate'), 'none'],
  ties: [bool, false],
});
const MODEL = Object.freeze(model({}, 'model'));

const turn = record({
  prompt: record({ length: count, seed: [count, 0] }),
  parameters: [parameters, PARAMETERS],
  form: [oneOf('general', 'sampler-first', 'prompt-array'), 'general'],
  cache: [oneOf('same', 'caller-list'), 'same'],
  processor: [oneOf('none', 'boost'), 'none'],
  sampler: [oneOf('parameters', 'argmax', 'argmin'), 'parameters'],
  nexts: [count, 1],
});

/** @type {Record<string, [Reader, any]>} */
const version = { version: [oneOf(1), 1] };
/**
 * Checks a scenario and fills in what was left out; throws `BadRequest`, naming the field.
 * @type {Reader}
 */
export const readScenario = tagged('kind', {
  resolve: {
    ...version,
    requested: whole,
    key_dim: [orNull(whole), null],
    value_dim: [orNull(whole), null],
    layer: [orNull(layer), null],
  },
  quantize: { ...version, tensor, bits: whole, group_size: whole },
  cache: { ...version, layer, operations: [list(operation), []], observe: [observe, NOTHING] },
  container: {
    ...version,
    layers: list(layer),
    form: [oneOf('container', 'free'), 'container'],
    given: [oneOf('list', 'model'), 'list'],
    built: [built, BUILT],
    twin: [bool, false],
    steps: [list(step), []],
    observe: [observe, NOTHING],
  },
  iterate: {
    ...version,
    layers: list(layer),
    given: [oneOf('model', 'list', 'container', 'both'), 'list'],
    built: [built, BUILT],
    model: [model, MODEL],
    turns: list(turn, 1, 4),
    observe: [observe, NOTHING],
  },
});
