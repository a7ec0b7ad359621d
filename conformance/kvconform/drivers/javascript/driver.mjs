// @ts-check
// The one class that connects an implementation to the kit: this one is for the example. EDIT THIS FILE: make
// every method call your implementation, and remove what you do not have from `features`.

import { Implementation, Look, Refused, Tensor } from './kit/index.mjs';
import { checkParameters, quantizeRow } from './example/affine.mjs';
import {
  Cache,
  ChunkedCache,
  CompositeCache,
  PlainCache,
  QuantizedCache,
  RecurrentCache,
  RotatingCache,
} from './example/caches.mjs';
import { CacheContainer } from './example/container.mjs';
import { decode } from './example/floats.mjs';
import { resolveGroupSize } from './example/group_size.mjs';
import { InvalidArgument } from './example/invalid.mjs';
import { TokenIterator } from './example/iterator.mjs';
import { isCompatible, isQuantizable, maybeQuantize } from './example/policy.mjs';
import { dimOf, WrittenBlock } from './example/rows.mjs';
import { GenerateParameters } from './example/sampling.mjs';
import { fromState, load, save, stateOf } from './example/storage.mjs';

/** Parameters whose own sampler and processor are logged by the kit. */
class LoggedParameters extends GenerateParameters {
  #request;

  /** @param {import('./kit/index.mjs').Request<any, CacheContainer>} request */
  constructor(request) {
    super(request.parameters);
    this.#request = request;
  }

  sampler() {
    return this.#request.logged(super.sampler());
  }

  processor() {
    return this.#request.logged(super.processor());
  }
}

/** @typedef {Implementation<any, CacheContainer, TokenIterator>} Base */

/** @extends {Implementation<any, CacheContainer, TokenIterator>} */
export class Driver extends Implementation {
  /** @type {import('./kit/index.mjs').Info} */
  info = {
    name: 'example-javascript',
    version: '1.0',
    language: 'JavaScript',
    backend: 'cpu',
    dialect: 'proposal',
    capabilities: {
      kinds: ['resolve', 'quantize', 'cache', 'container', 'iterate'],
      bits: [2, 3, 4, 5, 6, 8],
      group_sizes: [32, 64, 128],
      dtypes: ['float32', 'float16', 'bfloat16'],
      layers: ['plain', 'chunked', 'rotating', 'quantized', 'recurrent', 'composite'],
      features: [
        ...['resolver', 'layer-queries', 'convert', 'copy', 'save-load', 'state', 'head-counts', 'accounting'],
        ...['container', 'free-pass', 'model-list', 'accesses'],
        ...['prepare', 'logits-prefill', 'model-state', 'processors', 'samplers', 'penalty', 'sampler-first'],
        ...['prompt-array', 'both-refused', 'eager', 'count', 'prefill-time'],
      ],
    },
  };

  /** @type {Base['refuses']} */
  refuses(error) {
    return error instanceof InvalidArgument || error instanceof Refused;
  }

  // ---- resolve, quantize

  /** @type {Base['groupSize']} */
  groupSize(requested, keyDim, valueDim) {
    return resolveGroupSize(requested, keyDim, valueDim);
  }

  /** @type {Base['headDims']} */
  headDims(cache) {
    return cache.headDims;
  }

  /** @type {Base['isQuantizable']} */
  isQuantizable(cache) {
    return isQuantizable(cache);
  }

  /** @type {Base['isCompatible']} */
  isCompatible(cache) {
    return isCompatible(cache);
  }

  /** @type {Base['quantize']} */
  quantize(tensor, bits, groupSize) {
    const [count, dim] = tensor.shape;
    checkParameters(dim, bits, groupSize);
    const values = decode(tensor.bytes, tensor.dtype);
    const rows = Array.from({ length: count }, (_, i) =>
      quantizeRow(values.subarray(i * dim, (i + 1) * dim), bits, groupSize, tensor.dtype),
    );
    return packed(rows, [count], { dim, bits, groupSize, dtype: tensor.dtype });
  }

  // ---- caches

  /** @type {Base['make']} */
  make(layer, children) {
    if (layer.kind === 'plain') return new PlainCache();
    if (layer.kind === 'chunked') return new ChunkedCache(layer.chunk_size);
    if (layer.kind === 'rotating') return new RotatingCache(layer.max_size, layer.keep);
    if (layer.kind === 'quantized') return new QuantizedCache(layer.bits, layer.group_size);
    if (layer.kind === 'recurrent') return new RecurrentCache(layer.slots);
    return new CompositeCache(children);
  }

  /** @type {Base['append']} */
  append(cache, rows) {
    const { heads, keyDim, valueDim, dtype } = rows;
    const block = new WrittenBlock(rows.count, dtype, (role, head, index) => rows.values(role, head, index));
    return cache.append(block, { heads, keyDim, valueDim, dtype });
  }

  /** @type {Base['trim']} */
  trim(cache, rows) {
    return cache.trim(rows);
  }

  /** @type {Base['dropFront']} */
  dropFront(cache) {
    if (!(cache instanceof ChunkedCache)) throw new Refused('only a chunked cache can drop its front. KC-3');
    cache.dropFront();
  }

  /** @type {Base['replaceState']} */
  replaceState(cache, arrays) {
    cache.replace(arrays);
  }

  /** @type {Base['convert']} */
  convert(cache, bits, groupSize) {
    if (!isQuantizable(cache)) throw new Refused(`a ${cache.kind} cache is not quantizable. QP-1`);
    return cache.toQuantized(bits, groupSize);
  }

  /** @type {Base['copy']} */
  copy(cache) {
    return cache.copy();
  }

  /** @type {Base['saveAndLoad']} */
  saveAndLoad(cache, path) {
    save(cache, path);
    return { cache: load(path), rows: cache.rows };
  }

  /** @type {Base['stateRoundTrip']} */
  stateRoundTrip(cache) {
    return { cache: fromState(stateOf(cache)), rows: cache.rows };
  }

  // ---- looks

  /** @type {Base['look']} */
  look(cache, observe) {
    const look = new Look(cache.kind, { offset: cache.offset, rows: cache.rows, children: cache.children });
    if (cache.shape) Object.assign(look, { keyDim: cache.shape.keyDim, valueDim: cache.shape.valueDim });
    if (cache instanceof QuantizedCache) Object.assign(look, { groupSize: cache.groupSize, bits: cache.bits });
    if (cache instanceof ChunkedCache) look.startPosition = cache.startPosition;
    if (cache instanceof RecurrentCache && !cache.empty) look.state = cache.arrays.map((array) => array?.[0] ?? 0);
    if (observe.content && cache.rows) {
      look.ask('keys', () => content(cache, 0)).ask('values', () => content(cache, 1));
    }
    if (observe.accounting) {
      look.ask('nbytes', () => cache.nbytes).ask('size', () => cache.rows);
      look.ask('empty', () => cache.empty).ask('trimmable', () => cache.trimmable);
    }
    return look;
  }

  // ---- the pass

  /** @type {Base['freePass']} */
  freePass(list, bits, groupSize, start) {
    return { returned: maybeQuantize(list, bits, groupSize, start) };
  }

  /** @type {Base['makeContainer']} */
  makeContainer(list, built) {
    return new CacheContainer(list, built.bits);
  }

  /** @type {Base['makeContainerFromModel']} */
  makeContainerFromModel(model, built) {
    return new CacheContainer(model.newCache(), built.bits);
  }

  /** @type {Base['layers']} */
  layers(container) {
    return container.layers;
  }

  /** @type {Base['containerPass']} */
  containerPass(container, bits, groupSize, start) {
    container.maybeQuantize(bits, groupSize, start);
  }

  /** @type {Base['accesses']} */
  accesses() {
    return Cache.looks;
  }

  // ---- the iterator

  /** @type {Base['makeIterator']} */
  makeIterator(request) {
    const { form, prompt, model, list, container, processor } = request;
    const sampler = /** @type {import('./kit/index.mjs').Sampler} */ (request.sampler);
    const onContainer = (/** @type {CacheContainer} */ own) => request.worksOn(own);
    const options = { list, container, processor, onContainer };
    if (form === 'sampler-first') {
      const { prefillStep, maxTokens } = request.parameters;
      return TokenIterator.withSampler(prompt, model, sampler, { ...options, prefillStep, maxTokens });
    }
    const all = { ...options, sampler, parameters: new LoggedParameters(request) };
    if (form === 'prompt-array') {
      return TokenIterator.fromPromptArray(prompt, model, { ...all, warn: () => request.deprecated() });
    }
    return new TokenIterator(prompt, model, all);
  }

  /** @type {Base['next']} */
  next(iterator) {
    return iterator.next();
  }

  /** @type {Base['containerOf']} */
  containerOf(iterator) {
    return iterator.container;
  }

  /** @type {Base['count']} */
  count(iterator) {
    return iterator.count;
  }

  /** @type {Base['prefillTime']} */
  prefillTime(iterator) {
    return iterator.prefillTime;
  }
}

/**
 * Keys (role 0) or values (role 1) of the rows that a reader gets.
 * @param {any} cache
 * @param {0 | 1} role
 */
function content(cache, role) {
  const { heads, dtype } = cache.shape;
  const dim = dimOf(cache.shape, role);
  const rows = cache.fetch().side(role, heads);
  const leading = [1, heads, cache.rows];
  if (!(cache instanceof QuantizedCache)) return joined(rows, 'data', dtype, [...leading, dim]);
  return packed(rows, leading, { dim, bits: cache.bits, groupSize: cache.groupSize, dtype });
}

/**
 * @param {import('./example/rows.mjs').StoredRow[]} rows
 * @param {number[]} leading
 * @param {{dim: number, bits: number, groupSize: number, dtype: any}} options
 */
function packed(rows, leading, { dim, bits, groupSize, dtype }) {
  return {
    packed: joined(rows, 'packed', 'uint32', [...leading, (dim * bits) / 32]),
    scales: joined(rows, 'scales', dtype, [...leading, dim / groupSize]),
    biases: joined(rows, 'biases', dtype, [...leading, dim / groupSize]),
  };
}

/**
 * @param {import('./example/rows.mjs').StoredRow[]} rows
 * @param {string} part
 * @param {import('./kit/index.mjs').TensorType} dtype
 * @param {number[]} shape
 */
function joined(rows, part, dtype, shape) {
  return new Tensor(dtype, shape, Buffer.concat(rows.map((row) => row[part])));
}
