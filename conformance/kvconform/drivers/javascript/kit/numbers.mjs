// @ts-check
// `resolve` and `quantize` scenarios (contract, section 4).

import { Refused } from './errors.mjs';
import { build, numberLayers } from './layers.mjs';
import { Tensor } from './tensor.mjs';

/** @typedef {import('./index.mjs').Implementation<any, any, any>} Impl */

/**
 * @param {Impl} impl
 * @param {any} scenario
 */
export function runResolve(impl, { requested, key_dim: keyDim, value_dim: valueDim, layer }) {
  if (layer !== null) {
    if (keyDim !== null || valueDim !== null) throw new Refused('head dims and a layer are given; give one');
    return resolveLayer(impl, requested, layer);
  }
  if (keyDim === null || valueDim === null) throw new Refused('a head dim is missing; give both, or a layer');
  return { kind: 'resolve', group_size: impl.groupSize(requested, keyDim, valueDim) };
}

/**
 * @param {Impl} impl
 * @param {number} requested
 * @param {any} layer
 */
function resolveLayer(impl, requested, layer) {
  const cache = build(impl, numberLayers([layer])[0]);
  const dims = impl.headDims(cache);
  const quantizable = impl.isQuantizable(cache);
  return {
    kind: 'resolve',
    group_size: quantizable && dims ? impl.groupSize(requested, ...dims) : null,
    head_dims: dims,
    quantizable,
    compatible: quantizable && impl.isCompatible(cache), // HD-3: asked of quantizable layers only
  };
}

/**
 * @param {Impl} impl
 * @param {any} scenario
 */
export function runQuantize(impl, { tensor, bits, group_size: groupSize }) {
  const given = Tensor.fromWire(tensor);
  if (given.shape.length !== 2) throw new Refused(`a tensor of shape [${given.shape}] is not 2-d; give [rows, dim]`);
  return { kind: 'quantize', ...impl.quantize(given, bits, groupSize) };
}
