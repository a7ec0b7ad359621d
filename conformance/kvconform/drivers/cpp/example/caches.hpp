// The cache classes: plain, chunked, rotating, quantized, recurrent, composite (KC, QC).
#pragma once

#include "group_size.hpp"
#include "rows.hpp"

namespace example {

enum class Kind { plain, chunked, rotating, quantized, recurrent, composite };

class Cache;
using CachePtr = std::shared_ptr<Cache>;
using List = std::vector<CachePtr>;
using HeadDims = std::optional<std::pair<Int, Int>>;

constexpr Int GROWTH_STEP = 256;  // KC-1: rows by which a buffer grows

inline Int grown(Int capacity, Int needed) {
  return std::max(capacity, (needed + GROWTH_STEP - 1) / GROWTH_STEP * GROWTH_STEP);
}

// One layer's cache. The defaults are those of a cache without rows. What a pass may ask goes through the
// public functions here, which count it: a container that is disarmed must look at no layer (CT-11).
class Cache {
 public:
  inline static Int looks = 0;

  virtual ~Cache() = default;

  Kind kind() const { return ++looks, kind_; }
  MaybeInt offset() const { return ++looks, own_offset(); }
  HeadDims head_dims() const { return ++looks, own_head_dims(); }          // HD-1
  bool holds_every_row() const { return ++looks, own_holds_every_row(); }  // QP-2

  virtual Int append(const BlockPtr&, const RowShape&) {
    throw std::domain_error("this cache takes no rows");
  }
  virtual Int trim(Int) { return 0; }
  virtual bool trimmable() const { return false; }
  virtual MaybeInt rows() const { return std::nullopt; }
  virtual bool empty() const = 0;
  virtual Int nbytes() const = 0;
  virtual CachePtr copy() const = 0;
  virtual CachePtr to_quantized(Int /*bits*/, Int /*group_size*/) const {
    throw std::domain_error("this cache cannot be quantized; convert plain ones only. QP-1");
  }

 protected:
  explicit Cache(Kind kind) : kind_(kind) {}
  virtual MaybeInt own_offset() const { return std::nullopt; }
  virtual HeadDims own_head_dims() const { return std::nullopt; }
  virtual bool own_holds_every_row() const { return true; }

 private:
  Kind kind_;
};

// What a row cache consists of; whole caches are copied and saved through this.
struct RowState {
  Int offset = 0, start_position = 0, capacity = 0;
  std::optional<RowShape> shape;  // of the rows written; none before the first write
  Rows stored;                    // rows from the start position on; those beyond the offset are invisible
};

// A cache whose reader gets the rows between a start position and the offset, in order (KC-1).
class RowCache : public Cache {
 public:
  RowState at;

  Int append(const BlockPtr& block, const RowShape& shape) override {
    check_shape(shape);
    at.shape = shape;
    at.stored = at.stored.part(0, *rows()) + Rows(as_stored(block));
    at.offset += block->count;
    allocate();
    return *rows();
  }

  // Make room for the rows held, in growth steps; never gives room back (QC-3).
  virtual void allocate() { at.capacity = grown(at.capacity, *rows()); }

  Int trim(Int count) override {  // QC-4: moves only the offset; a negative number trims nothing
    const Int trimmed = std::max<Int>(0, std::min(*rows(), count));
    at.offset -= trimmed;
    return trimmed;
  }

  bool trimmable() const override { return true; }
  MaybeInt rows() const override { return at.offset - at.start_position; }
  bool empty() const override { return *rows() == 0; }
  Int nbytes() const override { return at.shape ? at.capacity * row_bytes() : 0; }
  virtual Rows fetch() const { return at.stored.part(0, *rows()); }

 protected:
  using Cache::Cache;

  virtual BlockPtr as_stored(const BlockPtr& block) const { return block; }
  virtual Int row_bytes() const {
    return at.shape->heads * (at.shape->key_dim + at.shape->value_dim) * at.shape->item_bytes();
  }
  MaybeInt own_offset() const override { return at.offset; }
  bool own_holds_every_row() const override { return *rows() == at.offset; }
  HeadDims own_head_dims() const override {
    if (!at.shape) return std::nullopt;
    return std::make_pair(at.shape->key_dim, at.shape->value_dim);
  }

  void check_shape(const RowShape& shape) const {
    if (at.shape && !(*at.shape == shape))
      throw std::invalid_argument("rows of another shape are in the cache; write the same shape");
  }
};

class QuantizedCache : public RowCache {
 public:
  // Made empty it has the requested group size until the first write brings the head dims.
  QuantizedCache(Int bits, Int group_size) : RowCache(Kind::quantized), bits(bits), group_size(group_size) {
    check_bits(bits);
  }

  Int bits, group_size;

  // The rows and the offset of another cache, which stays as it is (MQ-5, MQ-6).
  static CachePtr from(const RowCache& source, Int bits, Int group_size) {
    auto result = std::make_shared<QuantizedCache>(bits, group_size);
    if (!source.at.shape) return result;
    if (*source.rows() != source.at.offset)
      throw std::invalid_argument(
          "the cache holds fewer rows than were written and cannot be quantized; keep it. QP-2");
    result->resolve(*source.at.shape);
    result->at = source.at;
    result->at.stored =
        source.fetch().map_blocks([&](const BlockPtr& block) { return result->as_stored(block); });
    result->at.capacity = 0;
    result->allocate();
    return result;
  }

  Int append(const BlockPtr& block, const RowShape& shape) override {
    if (!at.shape) resolve(shape);
    return RowCache::append(block, shape);
  }

  CachePtr copy() const override { return std::make_shared<QuantizedCache>(*this); }

  CachePtr to_quantized(Int new_bits, Int new_group_size) const override {
    if (!planted("quantize-twice")) return RowCache::to_quantized(new_bits, new_group_size);  // MQ-12
    auto result = std::make_shared<QuantizedCache>(*this);
    result->bits = new_bits, result->group_size = new_group_size;
    if (at.shape) result->resolve(*at.shape);
    result->at.stored = at.stored.map_blocks([&](const BlockPtr& block) {
      return result->as_stored(dynamic_cast<const QuantizedBlock&>(*block).source);
    });
    return result;
  }

 protected:
  HeadDims own_head_dims() const override {
    return std::nullopt;
  }  // GS-10: more than one key and one value array

  BlockPtr as_stored(const BlockPtr& block) const override {
    return std::make_shared<QuantizedBlock>(block, bits, group_size, at.shape->dtype);
  }

  Int row_bytes() const override {  // QC-8
    const Int dims = at.shape->key_dim + at.shape->value_dim;
    return at.shape->heads * (dims * bits / 8 + 2 * at.shape->item_bytes() * dims / group_size);
  }

 private:
  void resolve(const RowShape& shape) {
    const MaybeInt size = resolve_group_size(group_size, shape.key_dim, shape.value_dim);
    if (!size) throw std::invalid_argument("no supported group size divides both head dims. GS-2");
    group_size = *size;
    at.shape = shape;
  }
};

class PlainCache : public RowCache {
 public:
  PlainCache() : RowCache(Kind::plain) {}
  CachePtr copy() const override { return std::make_shared<PlainCache>(*this); }
  CachePtr to_quantized(Int bits, Int group_size) const override {
    return QuantizedCache::from(*this, bits, group_size);
  }

 protected:
  using RowCache::RowCache;
};

// Can drop its front: then holds the newest `chunk_size` rows, at absolute positions (KC-3).
class ChunkedCache : public PlainCache {
 public:
  explicit ChunkedCache(Int chunk_size) : PlainCache(Kind::chunked), chunk_size(chunk_size) {}
  const Int chunk_size;
  CachePtr copy() const override { return std::make_shared<ChunkedCache>(*this); }

  void drop_front() {
    const Int dropped = *rows() - chunk_size;
    if (dropped <= 0) return;
    at.stored = at.stored.part(dropped, *rows());
    at.start_position += dropped;
    at.capacity = 0;  // the rows kept move to an array of their own
    allocate();
  }
};

// Keeps its first `keep` rows and the newest, `max_size` in all, in an order of its own (KC-2).
class RotatingCache : public RowCache {
 public:
  RotatingCache(Int max_size, Int keep)
      : RowCache(Kind::rotating), max_size(max_size), keep(keep), oldest(keep) {
    if (keep < 0 || keep >= max_size)
      throw std::invalid_argument("keep must be below the size of the window");
  }

  const Int max_size, keep;
  Int oldest;  // index of the row that the next overwrite hits

  Int append(const BlockPtr& block, const RowShape& shape) override {
    check_shape(shape);
    at.shape = shape;
    if (block->count == 1) write_one(Rows(block));
    else write_many(Rows(block));
    at.offset += block->count;
    allocate();
    return *rows();
  }

  void allocate() override {
    at.capacity = std::max(*rows(), std::min(max_size, grown(at.capacity, *rows())));
  }

  Int trim(Int count) override {  // only while no row has been overwritten
    if (!trimmable()) return 0;
    const Int trimmed = RowCache::trim(count);
    at.stored = at.stored.part(0, at.offset);
    return trimmed;
  }

  bool trimmable() const override { return at.offset < max_size; }
  MaybeInt rows() const override { return at.stored.count(); }
  Rows fetch() const override { return at.stored; }
  CachePtr copy() const override { return std::make_shared<RotatingCache>(*this); }

  CachePtr to_quantized(Int bits, Int group_size) const override {
    if (!planted("convert-rotating")) return RowCache::to_quantized(bits, group_size);
    return QuantizedCache::from(*this, bits, group_size);
  }

 private:
  void write_many(const Rows& rows) {  // at most max_size - 1 old rows stay before the new ones
    at.stored = newest(max_size - 1) + rows;
    oldest = keep;
  }

  void write_one(const Rows& row) {
    if (at.stored.count() > max_size) at.stored = newest(max_size), oldest = keep;
    if (at.stored.count() < max_size) {
      at.stored = at.stored + row;
      return;
    }
    at.stored = at.stored.part(0, oldest) + row + at.stored.part(oldest + 1, max_size);
    oldest = oldest + 1 < max_size ? oldest + 1 : keep;
  }

  // In time order, cut to `limit` rows: the first `keep` and the newest of the others.
  Rows newest(Int limit) const {
    const Rows& all = at.stored;
    const Rows ordered =
        oldest == keep ? all : all.part(0, keep) + all.part(oldest, all.count()) + all.part(keep, oldest);
    const Int surplus = ordered.count() - limit;
    return surplus <= 0 ? ordered : ordered.part(0, keep) + ordered.part(keep + surplus, ordered.count());
  }
};

// Whole state arrays, replaced at every write; no offset, no rows, no trim (KC-4).
class RecurrentCache : public Cache {
 public:
  explicit RecurrentCache(Int slots) : Cache(Kind::recurrent), arrays(static_cast<std::size_t>(slots)) {}
  std::vector<Floats> arrays;  // an empty one: never filled
  CachePtr copy() const override { return std::make_shared<RecurrentCache>(*this); }
  bool empty() const override {
    return std::all_of(arrays.begin(), arrays.end(), [](const Floats& array) { return array.empty(); });
  }
  Int nbytes() const override {
    Int total = 0;
    for (const Floats& array : arrays) total += static_cast<Int>(array.size() * sizeof(float));
    return total;
  }
};

// Caches in one list entry (KC-5).
class CompositeCache : public Cache {
 public:
  explicit CompositeCache(List children) : Cache(Kind::composite), children(std::move(children)) {}
  List children;

  Int trim(Int count) override {
    Int trimmed = 0;
    if (trimmable()) {
      for (const auto& child : children) trimmed = child->trim(count);
    }
    return trimmed;
  }
  bool trimmable() const override {
    return std::all_of(children.begin(), children.end(),
                       [](const CachePtr& child) { return child->trimmable(); });
  }
  bool empty() const override {
    return std::all_of(children.begin(), children.end(),
                       [](const CachePtr& child) { return child->empty(); });
  }
  Int nbytes() const override {
    Int total = 0;
    for (const auto& child : children) total += child->nbytes();
    return total;
  }
  CachePtr copy() const override {
    List copies;
    for (const auto& child : children) copies.push_back(child->copy());
    return std::make_shared<CompositeCache>(copies);
  }
};

}  // namespace example
