// Rows that are computed when somebody looks at them. A cache holds Rows: ranges of blocks. A block is what
// one append wrote and never changes, so caches can share it without seeing each other's writes (MQ-6, QC-9).
#pragma once

#include <map>
#include <tuple>

#include "affine.hpp"

namespace example {

// What all rows of a cache have in common.
struct RowShape {
  Int heads = 1, key_dim = 64, value_dim = 64;
  std::string dtype = "float32";

  Int dim(int role) const { return role ? value_dim : key_dim; }
  Int item_bytes() const { return kvconform::item_bytes(dtype); }
  bool operator==(const RowShape& other) const {
    return heads == other.heads && key_dim == other.key_dim && value_dim == other.value_dim &&
           dtype == other.dtype;
  }
};

// `count` rows as one append wrote them; `row` is asked for keys (role 0) or values (role 1) of one head.
class Block {
 public:
  explicit Block(Int count) : count(count) {}
  virtual ~Block() = default;
  virtual StoredRow row(int role, Int head, Int index) const = 0;
  const Int count;
};

using BlockPtr = std::shared_ptr<const Block>;

class WrittenBlock : public Block {
 public:
  explicit WrittenBlock(kvconform::Rows rows) : Block(rows.count), rows_(std::move(rows)) {}
  StoredRow row(int role, Int head, Int index) const override {
    return {encode(rows_.values(role, head, index), rows_.dtype), {}, {}};
  }

 private:
  kvconform::Rows rows_;
};

// The rows of another block, each quantized by itself (QC-2, AQ-2).
class QuantizedBlock : public Block {
 public:
  QuantizedBlock(BlockPtr source, Int bits, Int group_size, std::string dtype)
      : Block(source->count),
        source(std::move(source)),
        bits_(bits),
        group_size_(group_size),
        dtype_(std::move(dtype)) {}
  StoredRow row(int role, Int head, Int index) const override {
    const auto [at, added] = known_.try_emplace({role, head, index});  // rows are looked at many times
    if (added)
      at->second =
          quantize_row(decode(source->row(role, head, index).data, dtype_), bits_, group_size_, dtype_);
    return at->second;
  }
  const BlockPtr source;

 private:
  Int bits_, group_size_;
  std::string dtype_;
  mutable std::map<std::tuple<int, Int, Int>, StoredRow> known_;
};

// The rows of a saved cache.
class LoadedBlock : public Block {
 public:
  LoadedBlock(Int count, Int heads, std::array<std::vector<StoredRow>, 2> rows)
      : Block(count), rows_(std::move(rows)) {
    for (const auto& side : rows_) {
      if (static_cast<Int>(side.size()) != heads * count)
        throw std::invalid_argument("the saved cache is damaged, save it again");
    }
  }
  StoredRow row(int role, Int head, Int index) const override {
    return rows_[static_cast<std::size_t>(role)][static_cast<std::size_t>(head * count + index)];
  }

 private:
  std::array<std::vector<StoredRow>, 2> rows_;
};

// An immutable sequence of rows, each the row of some block.
class Rows {
 public:
  struct Segment {
    BlockPtr block;
    Int first, stop;
  };

  Rows() = default;
  explicit Rows(const BlockPtr& block) {
    if (block->count) segments_.push_back({block, 0, block->count});
  }

  Int count() const {
    Int total = 0;
    for (const Segment& segment : segments_) total += segment.stop - segment.first;
    return total;
  }

  // Rows start .. stop - 1; what lies outside is left out, as array slices do.
  Rows part(Int start, Int stop) const {
    Rows result;
    Int at = 0;
    for (const Segment& segment : segments_) {
      const Int length = segment.stop - segment.first;
      const Int low = std::max<Int>(start - at, 0), high = std::min(stop - at, length);
      if (low < high) result.segments_.push_back({segment.block, segment.first + low, segment.first + high});
      at += length;
    }
    return result;
  }

  Rows operator+(const Rows& other) const {
    Rows result = *this;
    result.segments_.insert(result.segments_.end(), other.segments_.begin(), other.segments_.end());
    return result;
  }

  // The same rows of other blocks.
  template <class Change>
  Rows map_blocks(Change change) const {
    Rows result = *this;
    std::map<const Block*, BlockPtr> changed;
    for (Segment& segment : result.segments_) {
      BlockPtr& block = changed[segment.block.get()];
      if (!block) block = change(segment.block);
      segment.block = block;
    }
    return result;
  }

  // All rows of one side, head after head: the order of an array `[1, heads, rows, ...]`.
  std::vector<StoredRow> side(int role, Int heads) const {
    std::vector<StoredRow> result;
    for (Int head = 0; head < heads; ++head) {
      for (const Segment& segment : segments_) {
        for (Int index = segment.first; index < segment.stop; ++index)
          result.push_back(segment.block->row(role, head, index));
      }
    }
    return result;
  }

 private:
  std::vector<Segment> segments_;
};

}  // namespace example
