// Cache states: out of a cache, into a new one, and to a file and back. A state holds the rows that a reader
// gets and nothing beyond the offset (QC-5, QC-11, KC-6).
#pragma once

#include <filesystem>
#include <fstream>
#include <random>

#include "caches.hpp"

namespace example {

using kvconform::Json;

inline Json rows_to_json(const RowCache& cache) {
  if (!cache.at.shape) return nullptr;
  const RowShape& shape = *cache.at.shape;
  const Rows rows = cache.fetch();
  Json sides = Json::array();
  for (int role = 0; role < 2; ++role) {
    Json side = Json::array();
    for (const StoredRow& row : rows.side(role, shape.heads)) {
      side.push_back({kvconform::to_base64(row.data), kvconform::to_base64(row.scales),
                      kvconform::to_base64(row.biases)});
    }
    sides.push_back(side);
  }
  return {{"count", rows.count()},        {"heads", shape.heads}, {"key_dim", shape.key_dim},
          {"value_dim", shape.value_dim}, {"dtype", shape.dtype}, {"sides", sides}};
}

inline void rows_from_json(const Json& data, RowCache& cache) {
  if (data.is_null()) return;
  const Int count = data.at("count"), heads = data.at("heads");
  cache.at.shape = RowShape{heads, data.at("key_dim"), data.at("value_dim"), data.at("dtype")};
  std::array<std::vector<StoredRow>, 2> sides;
  for (std::size_t role = 0; role < 2; ++role) {
    for (const Json& row : data.at("sides").at(role)) {
      sides[role].push_back({kvconform::from_base64(row.at(0)), kvconform::from_base64(row.at(1)),
                             kvconform::from_base64(row.at(2))});
    }
  }
  cache.at.stored = Rows(std::make_shared<LoadedBlock>(count, heads, sides));
  cache.allocate();
}

inline Json state_of(const Cache& cache) {
  Json state = {{"kind", static_cast<int>(cache.kind())}};
  if (const auto* recurrent = dynamic_cast<const RecurrentCache*>(&cache)) {
    state["arrays"] = recurrent->arrays;
  } else if (const auto* composite = dynamic_cast<const CompositeCache*>(&cache)) {
    state["children"] = Json::array();
    for (const auto& child : composite->children) state["children"].push_back(state_of(*child));
  } else {
    const auto& rows = dynamic_cast<const RowCache&>(cache);
    state.update({{"offset", rows.at.offset},
                  {"start_position", rows.at.start_position},
                  {"rows", rows_to_json(rows)}});
    if (const auto* rotating = dynamic_cast<const RotatingCache*>(&cache))
      state.update(
          {{"max_size", rotating->max_size}, {"keep", rotating->keep}, {"oldest", rotating->oldest}});
    if (const auto* chunked = dynamic_cast<const ChunkedCache*>(&cache))
      state["chunk_size"] = chunked->chunk_size;
    if (const auto* quantized = dynamic_cast<const QuantizedCache*>(&cache))
      state.update({{"bits", quantized->bits}, {"group_size", quantized->group_size}});
  }
  return state;
}

inline CachePtr from_state(const Json& state) {
  const auto kind = static_cast<Kind>(state.at("kind").get<int>());
  if (kind == Kind::recurrent) {
    auto cache = std::make_shared<RecurrentCache>(static_cast<Int>(state.at("arrays").size()));
    cache->arrays = state.at("arrays").get<std::vector<Floats>>();
    return cache;
  }
  if (kind == Kind::composite) {
    List children;
    for (const Json& child : state.at("children")) children.push_back(from_state(child));
    return std::make_shared<CompositeCache>(children);
  }
  std::shared_ptr<RowCache> cache;
  if (kind == Kind::plain) cache = std::make_shared<PlainCache>();
  if (kind == Kind::chunked) cache = std::make_shared<ChunkedCache>(state.at("chunk_size").get<Int>());
  if (kind == Kind::quantized)
    cache = std::make_shared<QuantizedCache>(state.at("bits").get<Int>(), state.at("group_size").get<Int>());
  if (kind == Kind::rotating) {
    auto rotating =
        std::make_shared<RotatingCache>(state.at("max_size").get<Int>(), state.at("keep").get<Int>());
    rotating->oldest = state.at("oldest");
    cache = rotating;
  }
  cache->at.offset = state.at("offset");
  cache->at.start_position = state.at("start_position");
  rows_from_json(state.at("rows"), *cache);
  return cache;
}

inline CachePtr save_and_load(const Cache& cache) {
  const auto name = "kvconform-example-" + std::to_string(std::random_device{}()) + ".json";
  const auto path = std::filesystem::temp_directory_path() / name;
  std::ofstream(path) << state_of(cache);
  Json loaded;
  std::ifstream(path) >> loaded;
  std::filesystem::remove(path);
  return from_state(loaded);
}

}  // namespace example
