// One maybe-quantize pass in the dialect `proposal`: planned first, conversions included, and committed
// afterwards, so that a pass that fails has changed nothing (MQ-13).
#pragma once

#include "caches.hpp"

namespace example {

inline bool is_quantizable(const Cache& cache) {  // QP-1, QP-2: a chunked cache counts as plain
  const Kind kind = cache.kind();
  return kind == Kind::plain || kind == Kind::chunked ||
         (kind == Kind::rotating && planted("convert-rotating"));
}

inline bool is_compatible(const Cache& cache) {  // HD-2: whatever is requested
  const HeadDims dims = cache.head_dims();
  return dims && !compatible_group_sizes(dims->first, dims->second).empty();
}

inline bool qualifies(const Cache& cache, Int start) {  // TH-1, TH-5: compatible or not
  return is_quantizable(cache) && cache.offset() && *cache.offset() >= start;
}

// Whether the pass converts the layer, once one layer has triggered (MQ-3).
inline bool converts(const Cache& cache, Int group_size) {
  if (cache.kind() == Kind::quantized && planted("quantize-twice")) return true;
  if (!is_quantizable(cache) || !cache.holds_every_row()) return false;
  const HeadDims dims = cache.head_dims();  // none: an empty layer stays plain (MQ-8)
  return dims && resolve_group_size(group_size, dims->first, dims->second);
}

struct Plan {
  bool triggered = false;
  List layers;  // the list after the pass
};

inline Plan plan_pass(const List& layers, MaybeInt bits, Int group_size, Int start) {
  if (!bits || layers.empty()) return {false, layers};  // MQ-1
  const bool triggered = std::any_of(layers.begin(), layers.end(),
                                     [&](const CachePtr& layer) { return qualifies(*layer, start); });
  if (!triggered) return {false, layers};  // MQ-2
  check_bits(*bits);                       // MQ-14
  Plan plan{true, {}};
  std::map<const Cache*, CachePtr> converted;  // an object that sits in two places is converted once (MQ-12)
  for (const CachePtr& layer : layers) {
    CachePtr& result = converted[layer.get()];
    if (!result) result = converts(*layer, group_size) ? layer->to_quantized(*bits, group_size) : layer;
    plan.layers.push_back(result);
  }
  return plan;
}

// The free pass, without memory; whether it triggered (MQ-15).
inline bool maybe_quantize(List& layers, MaybeInt bits, Int group_size, Int start) {
  Plan plan = plan_pass(layers, bits, group_size, start);
  layers = std::move(plan.layers);
  return plan.triggered;
}

}  // namespace example
