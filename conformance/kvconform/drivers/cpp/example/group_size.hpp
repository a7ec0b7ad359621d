// Which group size a layer is quantized with (GS, resolver `nearest`).
#pragma once

#include "../kvconform.hpp"
#include "plant.hpp"

namespace example {

using kvconform::Int;
using kvconform::MaybeInt;

inline std::vector<Int> compatible_group_sizes(Int key_dim, Int value_dim) {
  if (key_dim <= 0 || value_dim <= 0)  // GS-12
    throw std::invalid_argument("head dims " + std::to_string(key_dim) + " and " + std::to_string(value_dim) +
                                " are not positive");
  std::vector<Int> sizes;
  for (const Int size : {32, 64, 128}) {
    if (key_dim % size == 0 && value_dim % size == 0) sizes.push_back(size);
  }
  return sizes;
}

// The compatible size nearest to the request, the smaller one of a tie; none when no size is compatible
// (GS-2..GS-4).
inline MaybeInt resolve_group_size(Int requested, Int key_dim, Int value_dim) {
  const Int wanted = std::max<Int>(1, requested);  // GS-9
  MaybeInt best;
  for (const Int size : compatible_group_sizes(key_dim, value_dim)) {
    const Int distance = std::abs(size - wanted), known = best ? std::abs(*best - wanted) : distance + 1;
    if (distance < known || (distance == known && planted("tie-high"))) best = size;
  }
  return best;
}

}  // namespace example
