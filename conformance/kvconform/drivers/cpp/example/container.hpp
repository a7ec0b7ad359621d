// The container: owns a copy of a model's cache list and latches the pass (CT).
#pragma once

#include "policy.hpp"

namespace example {

class CacheContainer {
 public:
  // Armed only with bits and with at least one quantizable layer (CT-4, CT-5). The caller's list is not kept.
  CacheContainer(List layers, MaybeInt bits)
      : layers_(std::move(layers)),
        armed_(bits && std::any_of(layers_.begin(), layers_.end(),
                                   [](const CachePtr& layer) { return is_quantizable(*layer); })) {}

  const List& layers() const { return layers_; }

  // One pass with this call's bits, group size and start; the first that triggers is the last (CT-4, CT-6,
  // CT-7).
  void maybe_quantize(MaybeInt bits, Int group_size, Int start) {
    if (!armed_) return;  // CT-11: before any look at a layer
    Plan plan = plan_pass(layers_, bits, group_size, start);
    layers_ = std::move(plan.layers);
    armed_ = !plan.triggered;
  }

 private:
  List layers_;
  bool armed_;
};

using ContainerPtr = std::shared_ptr<CacheContainer>;

}  // namespace example
