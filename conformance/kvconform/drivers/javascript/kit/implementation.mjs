// @ts-check
// What a driver fills in: a class that extends this one. Each method says "unsupported" until it is overridden.
// Types and the full description of every method: index.d.mts.

import { Refused, Unsupported } from './errors.mjs';

/**
 * @param {string} what
 * @returns {never}
 */
function no(what) {
  throw new Unsupported(`this driver has no ${what}`);
}

export class Implementation {
  /** Who this is, which dialect it follows, and what it can do. */
  get info() {
    return no('info');
  }

  /**
   * Whether an error is a clear refusal of bad input; every other one is an internal error.
   * @param {unknown} error
   */
  refuses(error) {
    return error instanceof Refused;
  }

  // ---- resolve, quantize
  groupSize(/* requested, keyDim, valueDim */) {
    return no('group-size resolver');
  }
  headDims(/* cache */) {
    return no('layer queries');
  }
  isQuantizable(/* cache */) {
    return no('layer queries');
  }
  isCompatible(/* cache */) {
    return no('layer queries');
  }
  quantize(/* tensor, bits, groupSize */) {
    return no('affine quantization');
  }

  // ---- caches
  make(/* layer, children */) {
    return no('caches');
  }
  append(/* cache, rows */) {
    return no('append');
  }
  trim(/* cache, rows */) {
    return no('trim');
  }
  dropFront(/* cache */) {
    return no('drop-front');
  }
  replaceState(/* cache, arrays */) {
    return no('recurrent state');
  }
  look(/* cache, observe */) {
    return no('looks');
  }
  convert(/* cache, bits, groupSize */) {
    return no('direct conversion');
  }
  copy(/* cache */) {
    return no('copies');
  }
  saveAndLoad(/* cache, path */) {
    return no('saving');
  }
  stateRoundTrip(/* cache */) {
    return no('states');
  }

  // ---- the pass
  freePass(/* list, bits, groupSize, start */) {
    return no('free pass');
  }
  makeContainer(/* list, built */) {
    return no('container');
  }
  makeContainerFromModel(/* model, built */) {
    return no("container over a model's list");
  }
  layers(/* container */) {
    return no('container');
  }
  containerPass(/* container, bits, groupSize, start */) {
    return no('container');
  }
  accesses() {
    return no('count of looks at layers');
  }

  // ---- the iterator
  makeIterator(/* request */) {
    return no('token iterator');
  }
  next(/* iterator */) {
    return no('token iterator');
  }
  containerOf(/* iterator */) {
    return no('container of an iterator');
  }
  count(/* iterator */) {
    return null;
  }
  prefillTime(/* iterator */) {
    return null;
  }
}

/** What a look at one cache shows; `ask` keeps the error of a question that throws. */
export class Look {
  /**
   * @param {string} kind
   * @param {object} [fields]
   */
  constructor(kind, fields = {}) {
    this.kind = kind;
    Object.assign(this, fields);
  }

  /**
   * Sets one field to what the question answers; when it throws, the field stays away and the error is kept.
   * @param {string} field
   * @param {() => any} question
   */
  ask(field, question) {
    try {
      // @ts-expect-error: any field of a look
      this[field] = question();
    } catch (error) {
      this.errors = { .../** @type {any} */ (this).errors, [wireName(field)]: String(error) };
    }
    return this;
  }
}

/** Fields of a look by their name on the wire, where it differs. */
const WIRE_NAMES = Object.freeze({
  keyDim: 'key_dim',
  valueDim: 'value_dim',
  groupSize: 'group_size',
  startPosition: 'start_position',
});

/** @param {string} field */
export function wireName(field) {
  return /** @type {Record<string, string>} */ (WIRE_NAMES)[field] ?? field;
}
