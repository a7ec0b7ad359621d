// @ts-check
// Cache states: out of a cache, into a new one, and to a file and back (QC-5, KC-6). A state holds the rows that a
// reader gets and nothing beyond the offset (QC-11).

import { readFileSync, writeFileSync } from 'node:fs';
import { ChunkedCache, CompositeCache, PlainCache, QuantizedCache, RecurrentCache, RotatingCache } from './caches.mjs';
import { InvalidArgument } from './invalid.mjs';
import { LoadedBlock, Rows } from './rows.mjs';

/** @typedef {import('./caches.mjs').Cache} Cache */

const FORMAT = 'kvconform-example-cache';

/** @type {Record<string, string[]>} The fields that a state keeps, by kind. */
const FIELDS = {
  plain: ['position', 'shape'],
  chunked: ['position', 'shape', 'chunkSize', 'startPosition'],
  rotating: ['position', 'shape', 'maxSize', 'keep', 'oldest'],
  quantized: ['position', 'shape', 'bits', 'groupSize'],
  recurrent: [],
  composite: [],
};

/** @type {Record<string, (state: any) => any>} */
const MAKERS = {
  plain: () => new PlainCache(),
  chunked: (state) => new ChunkedCache(state.fields.chunkSize),
  rotating: (state) => new RotatingCache(state.fields.maxSize, state.fields.keep),
  quantized: (state) => new QuantizedCache(state.fields.bits, state.fields.groupSize),
  recurrent: (state) => new RecurrentCache(state.arrays.length),
  composite: (state) => new CompositeCache(state.children.map(fromState)),
};

/**
 * @param {any} cache
 * @returns {any} a snapshot that later writes do not change
 */
export function stateOf(cache) {
  const { kind } = cache;
  const fields = Object.fromEntries(FIELDS[kind].map((name) => [name, cache[name]]));
  return { kind, fields, rows: cache.fetch?.(), arrays: cache.arrays, children: cache.children?.map(stateOf) };
}

/**
 * @param {any} state
 * @returns {Cache}
 */
export function fromState(state) {
  const cache = MAKERS[state.kind](state);
  Object.assign(cache, state.fields);
  if (state.arrays) cache.replace(state.arrays);
  if (state.rows) {
    cache.stored = state.rows;
    cache.allocate();
  }
  return cache;
}

/**
 * @param {Cache} cache
 * @param {string} path
 */
export function save(cache, path) {
  writeFileSync(path, JSON.stringify({ format: FORMAT, cache: toData(stateOf(cache)) }));
}

/**
 * @param {string} path
 * @returns {Cache}
 */
export function load(path) {
  const document = JSON.parse(readFileSync(path, 'utf8'));
  if (document.format !== FORMAT) throw new InvalidArgument(`${path} is no ${FORMAT} file; give one that was saved`);
  return fromState(fromData(document.cache));
}

/** @param {any} state */
function toData({ kind, fields, rows, arrays, children }) {
  return {
    kind,
    fields,
    sides: rows && fields.shape && [0, 1].map((role) => rows.side(role, fields.shape.heads).map(toBase64)),
    arrays: arrays?.map((/** @type {any} */ array) => array && [...array]),
    children: children?.map(toData),
  };
}

/**
 * @param {any} data
 * @returns {any}
 */
function fromData({ kind, fields, sides, arrays, children }) {
  return {
    kind,
    fields,
    rows: sides ? loadedRows(sides, fields.shape.heads) : FIELDS[kind].length ? new Rows() : undefined,
    arrays: arrays?.map((/** @type {any} */ array) => array && Float32Array.from(array)),
    children: children?.map(fromData),
  };
}

/**
 * @param {Record<string, string>[][]} sides
 * @param {number} heads
 */
function loadedRows(sides, heads) {
  const rows = sides.map((side) => side.map(fromBase64));
  return Rows.of(new LoadedBlock(rows[0].length / heads, heads, rows));
}

/** @param {Record<string, Uint8Array>} row */
function toBase64(row) {
  return Object.fromEntries(Object.entries(row).map(([name, bytes]) => [name, Buffer.from(bytes).toString('base64')]));
}

/** @param {Record<string, string>} row */
function fromBase64(row) {
  return Object.fromEntries(Object.entries(row).map(([name, text]) => [name, Buffer.from(text, 'base64')]));
}
