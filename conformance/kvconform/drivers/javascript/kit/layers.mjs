// @ts-check
// Builds the layers of a scenario out of the driver's caches, and writes pattern content to them
// (contract, sections 1 and 2).

import { chainAll, rowValues, STATE_MODULUS } from './arithmetic.mjs';

/** @typedef {import('./index.mjs').Implementation<any, any, any>} Impl */

const STATE_WIDTH = 4;
export const NOTHING = Object.freeze({ content: false, accounting: false, accesses: false });

/** Rows of pattern content behind a position, as one append writes them; computed when they are asked for. */
export class Rows {
  /**
   * @param {Slot} slot
   * @param {number} position of the first row
   * @param {number} count
   * @param {number} salt
   */
  constructor(slot, position, count, salt) {
    const { heads, key_dim: keyDim, value_dim: valueDim, dtype } = slot.layer;
    this.count = count;
    this.heads = heads;
    this.keyDim = keyDim;
    this.valueDim = valueDim;
    this.dtype = dtype;
    this.position = position;
    this.stream = slot.stream;
    this.salt = salt;
  }

  /**
   * The values of row `index`, for keys (role 0) or values (role 1) of one head.
   * @param {0 | 1} role
   * @param {number} head
   * @param {number} index
   */
  values(role, head, index) {
    const dim = role === 0 ? this.keyDim : this.valueDim;
    return rowValues(this.stream, this.salt, role, head, this.position + index, dim);
  }

  /**
   * All keys or all values as one array `[1, heads, count, dim]`, for designs that store at once what they are given.
   * @param {0 | 1} role
   */
  array(role) {
    const dim = role === 0 ? this.keyDim : this.valueDim;
    const all = new Float32Array(this.heads * this.count * dim);
    for (let head = 0; head < this.heads; head += 1) {
      for (let index = 0; index < this.count; index += 1) {
        all.set(this.values(role, head, index), (head * this.count + index) * dim);
      }
    }
    return all;
  }
}

/** One place for a layer: what is built there, and the number that its content depends on. */
export class Slot {
  /**
   * @param {any} layer
   * @param {() => number} nextNumber
   */
  constructor(layer, nextNumber) {
    this.layer = layer;
    this.stream = nextNumber();
    /** @type {Slot[]} */
    this.children = (layer.children ?? []).map((/** @type {any} */ child) => new Slot(child, nextNumber));
  }
}

/**
 * The scenario's layers, numbered from 0: depth first, a composite before its children.
 * @param {any[]} layers
 */
export function numberLayers(layers) {
  let number = 0;
  return layers.map((layer) => new Slot(layer, () => number++));
}

/**
 * The cache of a slot, filled as the scenario says.
 * @param {Impl} impl
 * @param {Slot} slot
 * @returns {any}
 */
export function build(impl, slot) {
  const { layer } = slot;
  const cache = impl.make(
    layer,
    slot.children.map((child) => build(impl, child)),
  );
  if (layer.kind === 'recurrent' && layer.filled) {
    putNumber(impl, slot, cache, chainAll(slot.stream) % STATE_MODULUS);
  }
  const writes = layer.singly ? Array(layer.length).fill(1) : layer.length ? [layer.length] : [];
  for (const rows of writes) writeRows(impl, slot, cache, rows, 0);
  if (layer.trim) impl.trim(cache, layer.trim);
  if (layer.drop_front) impl.dropFront(cache);
  return cache;
}

/**
 * Writes rows to the cache that now sits in the slot; the rows that a reader gets back, null without such.
 * @param {Impl} impl
 * @param {Slot} slot
 * @param {any} cache
 * @param {number} rows
 * @param {number} salt
 * @returns {number | null}
 */
export function writeRows(impl, slot, cache, rows, salt) {
  const look = impl.look(cache, NOTHING);
  if (look.kind === 'composite') {
    look.children?.forEach((child, i) => writeRows(impl, slot.children[i], child, rows, salt));
    return null;
  }
  if (look.kind === 'recurrent') {
    putNumber(impl, slot, cache, (31 * recurrentNumber(look) + rows + salt + 1) % STATE_MODULUS);
    return null;
  }
  return impl.append(cache, new Rows(slot, look.offset ?? 0, rows, salt));
}

/**
 * The `s` of a recurrent layer: what its first slot holds; 0 when it was never filled.
 * @param {import('./index.mjs').LookFields<any>} look
 */
export function recurrentNumber(look) {
  return look.state?.[0] ?? 0;
}

/**
 * @param {Impl} impl
 * @param {Slot} slot
 * @param {any} cache
 * @param {number} number
 */
function putNumber(impl, slot, cache, number) {
  const arrays = Array.from({ length: slot.layer.slots }, (_, i) =>
    new Float32Array(STATE_WIDTH).fill((number + i) % STATE_MODULUS),
  );
  impl.replaceState(cache, arrays);
}

/** @type {Readonly<Record<string, string>>} */
const LETTERS = Object.freeze({ plain: 'S', chunked: 'C', rotating: 'R', recurrent: 'M' });

/**
 * `S`, `C`, `R`, `M`, `Q:group_size,bits`, `L(a,b)`.
 * @param {Impl} impl
 * @param {any} cache
 * @returns {string}
 */
export function signature(impl, cache) {
  const look = impl.look(cache, NOTHING);
  if (look.kind === 'quantized') return `Q:${look.groupSize},${look.bits}`;
  if (look.kind === 'composite') return `L(${signatures(impl, look.children ?? []).join(',')})`;
  return LETTERS[look.kind] ?? '?';
}

/**
 * @param {Impl} impl
 * @param {readonly any[]} list
 */
export function signatures(impl, list) {
  return list.map((cache) => signature(impl, cache));
}
