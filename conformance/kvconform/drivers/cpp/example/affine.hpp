// Affine quantization of one row, step by step in float32, each operation rounded once (AQ). Compile with
// -ffp-contract=off: a fused multiply-add rounds once where two roundings are due.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "../kvconform.hpp"

namespace example {

using kvconform::Bytes;
using kvconform::Int;
using Floats = std::vector<float>;

static_assert(std::numeric_limits<float>::is_iec559, "float must be IEEE 754 binary32");

// ---------------------------------------------------------------- number formats

inline std::uint32_t pattern_of(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return std::isnan(value) ? 0x7FC00000u : bits;  // one NaN: positive and quiet
}

inline float from_pattern(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// The upper half of the float32, rounded to nearest, ties to even.
inline std::uint16_t to_bfloat16(float value) {
  const std::uint32_t bits = pattern_of(value);
  return static_cast<std::uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

inline std::uint16_t to_float16(float value) {
  const std::uint32_t bits = pattern_of(value), sign = (bits >> 16) & 0x8000u;
  if (std::isnan(value)) return 0x7E00u;
  const float size = std::fabs(value);
  if (size == 0) return static_cast<std::uint16_t>(sign);
  if (size >= 65520.0f) return static_cast<std::uint16_t>(sign | 0x7C00u);  // half-way beyond the largest
  int exponent = 0;
  std::frexp(size, &exponent);                    // size = fraction * 2^exponent, fraction in [0.5, 1)
  const int step = std::max(exponent, -13) - 11;  // of the last digit: subnormals share that of 2^-14
  const auto digits =
      static_cast<std::uint32_t>(std::nearbyint(std::ldexp(size, -step)));  // exact, then rounded
  const auto biased = static_cast<std::uint32_t>(step + 24);  // 0 for subnormals and the first normal binade
  return static_cast<std::uint16_t>(
      sign | ((biased << 10) + digits));  // the digits' top bit carries into the exponent
}

inline float from_float16(std::uint16_t half) {
  const int exponent = (half >> 10) & 0x1F, digits = half & 0x3FF;
  float size = exponent == 31  ? (digits ? NAN : INFINITY)
               : exponent == 0 ? std::ldexp(static_cast<float>(digits), -24)
                               : std::ldexp(static_cast<float>(digits + 0x400), exponent - 25);
  return (half & 0x8000u) ? -size : size;
}

// Little-endian bytes of the values, each rounded to the dtype.
inline Bytes encode(const Floats& values, const std::string& dtype) {
  Bytes data;
  data.reserve(values.size() * 4);
  for (const float value : values) {
    const bool wide = dtype == "float32";
    const std::uint32_t bits = wide                 ? pattern_of(value)
                               : dtype == "float16" ? to_float16(value)
                                                    : to_bfloat16(value);
    for (int shift = 0; shift < (wide ? 32 : 16); shift += 8)
      data.push_back(static_cast<std::uint8_t>(bits >> shift));
  }
  return data;
}

inline Floats decode(const Bytes& data, const std::string& dtype) {
  Floats values;
  const std::size_t size = dtype == "float32" ? 4 : 2;
  for (std::size_t at = 0; at + size <= data.size(); at += size) {
    std::uint32_t bits = 0;
    for (std::size_t byte = 0; byte < size; ++byte)
      bits |= static_cast<std::uint32_t>(data[at + byte]) << (8 * byte);
    values.push_back(size == 4            ? from_pattern(bits)
                     : dtype == "float16" ? from_float16(static_cast<std::uint16_t>(bits))
                                          : from_pattern(bits << 16));
  }
  return values;
}

// ---------------------------------------------------------------- one group

inline void check_bits(Int bits) {  // MQ-14
  if (bits == 2 || bits == 3 || bits == 4 || bits == 5 || bits == 6 || bits == 8) return;
  throw std::invalid_argument("bits " + std::to_string(bits) +
                              " are not supported; use one of 2, 3, 4, 5, 6, 8");
}

inline void check_parameters(Int length, Int bits, Int group_size) {
  check_bits(bits);
  if (group_size != 32 && group_size != 64 && group_size != 128)
    throw std::invalid_argument("group size " + std::to_string(group_size) +
                                " is not supported; use 32, 64 or 128");
  if (length % group_size != 0)
    throw std::invalid_argument("group size " + std::to_string(group_size) + " does not divide a row of " +
                                std::to_string(length));
}

struct Group {
  float scale = 0, bias = 0;
  std::vector<std::uint32_t> codes;
};

inline Group quantize_group(const float* values, Int count, Int bits) {
  const float top = static_cast<float>((1 << bits) - 1), smallest = 1e-7f;
  float low = INFINITY, high = -INFINITY;
  for (Int i = 0; i < count; ++i) {  // a NaN never wins
    if (values[i] < low) low = values[i];
    if (values[i] > high) high = values[i];
  }
  const float step = (high - low) / top, size = step > smallest ? step : smallest;
  const bool from_low =
      std::fabs(low) > std::fabs(high);  // the edge: whichever end is farther from zero, high on a tie
  const float edge = from_low ? low : high, first_scale = from_low ? size : -size;
  const float edge_code = std::nearbyint(edge / first_scale);  // half to even: moves the whole group's scale
  Group group;
  group.scale = edge_code != 0 ? edge / edge_code : first_scale;  // so that zero is representable
  group.bias = edge_code != 0 ? edge : 0.0f;
  for (Int i = 0; i < count; ++i) {
    const float code = std::nearbyint((values[i] - group.bias) / group.scale);
    group.codes.push_back(!(code > 0)  ? 0u
                          : code > top ? static_cast<std::uint32_t>(top)
                                       : static_cast<std::uint32_t>(code));
  }
  return group;
}

// ---------------------------------------------------------------- one row

// A row as a cache stores it. A plain row has `data` only; a quantized one packed words, scales and biases.
struct StoredRow {
  Bytes data, scales, biases;
};

inline StoredRow quantize_row(const Floats& values, Int bits, Int group_size, const std::string& dtype) {
  check_parameters(static_cast<Int>(values.size()), bits, group_size);
  StoredRow row;
  Floats scales, biases;
  std::uint64_t stream = 0;  // a little-endian bit stream: codes of 3, 5 and 6 bits straddle words
  Int held = 0;
  for (std::size_t at = 0; at < values.size(); at += static_cast<std::size_t>(group_size)) {
    const Group group = quantize_group(&values[at], group_size, bits);
    scales.push_back(group.scale);
    biases.push_back(group.bias);
    for (const std::uint32_t code : group.codes) {
      stream |= static_cast<std::uint64_t>(code) << held;
      for (held += bits; held >= 8; held -= 8, stream >>= 8)
        row.data.push_back(static_cast<std::uint8_t>(stream));
    }
  }
  row.scales = encode(scales, dtype);  // codes come from the float32 scale; only what is stored is rounded
  row.biases = encode(biases, dtype);
  return row;
}

}  // namespace example
