// kvconform.hpp - everything a C++ driver needs but the implementation under test.
//
// You write a class that derives from kvconform::Implementation<Cache, Container, Iterator>, override what
// you have, and call kvconform::serve(it). What you do not override is answered as "unsupported"; declare in
// `info` only what you have. The meaning of every field is that of the contract, docs/scenarios.md.
//
// Needs C++17 and nlohmann-json. Contents, in this order: arithmetic, errors, tensors, scenarios, looks, what
// you fill in, the scripted model with its processors and samplers, the runners of each kind, the wire.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#ifndef _WIN32
#include <unistd.h>
#endif

namespace kvconform {

using Json = nlohmann::json;
using Int = std::int64_t;
using MaybeInt = std::optional<Int>;
using Tokens = std::vector<Int>;

// ================================================================ arithmetic (contract, section 1)

constexpr std::uint32_t GOLDEN = 0x9E3779B9u;
constexpr Int STATE_MODULUS = 251;

// MurmurHash3's 32-bit finaliser.
inline std::uint32_t fmix(std::uint32_t h) {
  h ^= h >> 16;
  h *= 0x85EBCA6Bu;
  h ^= h >> 13;
  h *= 0xC2B2AE35u;
  return h ^ (h >> 16);
}

inline std::uint32_t chain(std::uint32_t h, Int x) {
  return fmix(h * 31u + static_cast<std::uint32_t>(x) + GOLDEN);
}

template <class... Parts>
std::uint32_t chain_all(Parts... parts) {
  std::uint32_t h = 0;
  ((h = chain(h, static_cast<Int>(parts))), ...);
  return h;
}

// ================================================================ errors

// Bad input, refused before anything changed. Any std::invalid_argument or std::domain_error counts as one
// too.
struct Refused : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// The implementation has no such concept; the whole scenario is then answered as unsupported.
struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The scripted model's own error: let it pass through the iterator.
struct PrepareFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A request that is not one.
struct BadRequest : std::runtime_error {
  BadRequest(int code, const std::string& message) : std::runtime_error(message), code(code) {}
  int code;
};

constexpr int REFUSED = -32001, UNSUPPORTED = -32002, INTERNAL = -32603;
constexpr int NOT_JSON = -32700, BAD_REQUEST = -32600, NO_METHOD = -32601, BAD_PARAMS = -32602;

// ================================================================ tensors

using Bytes = std::vector<std::uint8_t>;

inline std::string to_base64(const Bytes& data) {
  static const char* digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((data.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < data.size(); i += 3) {
    const std::size_t left = data.size() - i;
    const std::uint32_t chunk = (std::uint32_t(data[i]) << 16) |
                                (left > 1 ? std::uint32_t(data[i + 1]) << 8 : 0u) |
                                (left > 2 ? std::uint32_t(data[i + 2]) : 0u);
    text += digits[chunk >> 18];
    text += digits[(chunk >> 12) & 63];
    text += left > 1 ? digits[(chunk >> 6) & 63] : '=';
    text += left > 2 ? digits[chunk & 63] : '=';
  }
  return text;
}

inline Bytes from_base64(const std::string& text) {
  Bytes data;
  data.reserve(text.size() / 4 * 3);
  std::uint32_t chunk = 0;
  int held = 0;
  for (const char c : text) {
    std::uint32_t digit;
    if (c >= 'A' && c <= 'Z') digit = std::uint32_t(c - 'A');
    else if (c >= 'a' && c <= 'z') digit = std::uint32_t(c - 'a' + 26);
    else if (c >= '0' && c <= '9') digit = std::uint32_t(c - '0' + 52);
    else if (c == '+') digit = 62;
    else if (c == '/') digit = 63;
    else if (c == '=') break;
    else throw BadRequest(BAD_PARAMS, std::string("character '") + c + "' is not base64");
    chunk = (chunk << 6) | digit;
    held += 6;
    if (held >= 8) {
      held -= 8;
      data.push_back(std::uint8_t(chunk >> held));
    }
  }
  return data;
}

inline Int item_bytes(const std::string& dtype) { return dtype == "float32" || dtype == "uint32" ? 4 : 2; }

// A little-endian array; `bytes` holds the whole of `shape`.
struct Tensor {
  std::string dtype;  // float32, float16, bfloat16, uint32
  std::vector<Int> shape;
  Bytes bytes;

  Json json() const { return {{"dtype", dtype}, {"shape", shape}, {"data", to_base64(bytes)}}; }
};

// Quantized rows: packed words (uint32), scales and biases in the rows' own dtype.
struct Packed {
  Tensor packed, scales, biases;

  Json json() const {
    return {{"packed", packed.json()}, {"scales", scales.json()}, {"biases", biases.json()}};
  }
};

// ================================================================ scenarios

// The integers that a field may hold, both ends included.
struct Range {
  Int least, most;
};
constexpr Range WHOLE{-(Int(1) << 53), Int(1) << 53}, COUNT{0, 1000000}, POSITIVE{1, 1000000};

// Reads the fields of one JSON object, each within the bounds of the schema; an unknown field is an error, so
// that nothing is ignored silently.
class Fields {
 public:
  Fields(const Json& data, std::string where) : data_(data), where_(std::move(where)) {
    if (!data.is_object()) throw BadRequest(BAD_PARAMS, where_ + ": an object is due");
  }

  [[noreturn]] void wrong(const std::string& name, const std::string& what) const {
    throw BadRequest(BAD_PARAMS, where_ + "." + name + ": " + what);
  }

  // Null and absent are the same: the default.
  const Json* find(const char* name) {
    known_.push_back(name);
    const auto at = data_.find(name);
    return at == data_.end() || at->is_null() ? nullptr : &*at;
  }

  const Json& need(const char* name) {
    const Json* found = find(name);
    if (!found) wrong(name, "missing");
    return *found;
  }

  MaybeInt maybe(const char* name, Range range = WHOLE) {
    const Json* found = find(name);
    if (!found) return std::nullopt;
    return whole(name, *found, range);
  }

  Int integer(const char* name, Int otherwise, Range range = WHOLE) {
    return maybe(name, range).value_or(otherwise);
  }

  Int need_integer(const char* name, Range range = WHOLE) { return whole(name, need(name), range); }

  std::optional<double> positive_number(const char* name) {
    const Json* found = find(name);
    if (!found) return std::nullopt;
    if (!found->is_number() || !(found->get<double>() > 0)) wrong(name, "a number above 0 is due");
    return found->get<double>();
  }

  bool flag(const char* name, bool otherwise = false) {
    const Json* found = find(name);
    if (found && !found->is_boolean()) wrong(name, "true or false is due");
    return found ? found->get<bool>() : otherwise;
  }

  std::string text(const char* name) {
    const Json& found = need(name);
    if (!found.is_string()) wrong(name, "a string is due");
    return found.get<std::string>();
  }

  // One of several words, the first one by default.
  std::string choice(const char* name, const std::vector<std::string>& words) {
    return find(name) ? needed_choice(name, words) : words.front();
  }

  std::string needed_choice(const char* name, const std::vector<std::string>& words) {
    const std::string word = text(name);
    if (std::find(words.begin(), words.end(), word) == words.end()) wrong(name, "'" + word + "' is not known");
    return word;
  }

  // The items of a list; none when it is left out.
  std::vector<Json> list(const char* name) { return find(name) ? needed_list(name) : std::vector<Json>(); }

  std::vector<Json> needed_list(const char* name, std::size_t least = 0, std::size_t most = 1000000) {
    const Json& found = need(name);
    if (!found.is_array() || found.size() < least || found.size() > most)
      wrong(name, "a list of " + std::to_string(least) + ".." + std::to_string(most) + " items is due");
    return found.get<std::vector<Json>>();
  }

  // Numbers from 0; nothing when they are left out.
  std::optional<std::vector<Int>> counts(const char* name) {
    if (!find(name)) return std::nullopt;
    std::vector<Int> numbers;
    for (const Json& item : list(name)) numbers.push_back(whole(name, item, COUNT));
    return numbers;
  }

  void done() const {
    for (const auto& item : data_.items()) {
      if (std::none_of(known_.begin(), known_.end(), [&](const char* name) { return item.key() == name; }))
        wrong(item.key(), "unknown field; is the kit older than the suite?");
    }
  }

 private:
  Int whole(const char* name, const Json& data, Range range) const {
    const auto most = static_cast<std::uint64_t>(range.most);
    const bool fits = data.is_number_unsigned() ? data.get<std::uint64_t>() <= most : data.is_number_integer();
    if (!fits || data.get<Int>() < range.least || data.get<Int>() > range.most)
      wrong(name,
            "an integer in " + std::to_string(range.least) + ".." + std::to_string(range.most) + " is due");
    return data.get<Int>();
  }

  const Json& data_;
  std::string where_;
  std::vector<const char*> known_;
};

inline const std::vector<std::string> DTYPES = {"float32", "float16", "bfloat16"};

inline Tensor read_tensor(const Json& data) {
  Fields fields(data, "tensor");
  Tensor tensor;
  tensor.dtype = fields.needed_choice("dtype", {"float32", "float16", "bfloat16", "uint32"});
  fields.need("shape");
  tensor.shape = *fields.counts("shape");
  const std::string text = fields.text("data");
  tensor.bytes = from_base64(text);
  if (to_base64(tensor.bytes) != text) fields.wrong("data", "is not base64 with padding");
  fields.done();
  double expected = double(item_bytes(tensor.dtype));  // a shape may name more bytes than an integer counts
  for (const Int length : tensor.shape) expected *= double(length);
  if (expected != double(tensor.bytes.size())) fields.wrong("data", "does not fill the shape");
  return tensor;
}

// What a look contains beyond kind, offset, rows and dims.
struct Observe {
  bool content = false, accounting = false, accesses = false;

  static Observe read(const Json* data) {
    Observe result;
    if (!data) return result;
    Fields fields(*data, "observe");
    result.content = fields.flag("content");
    result.accounting = fields.flag("accounting");
    result.accesses = fields.flag("accesses");
    fields.done();
    return result;
  }
};

// One layer as a scenario describes it. Only the fields of its kind mean anything.
struct Layer {
  std::string kind;  // plain, chunked, rotating, quantized, recurrent, composite
  Int length = 0, key_dim = 64, value_dim = 64, heads = 1;
  std::string dtype = "float32";
  Int trim = 0;                   // plain
  Int chunk_size = 16;            // chunked
  bool drop_front = false;        // chunked
  Int max_size = 16, keep = 0;    // rotating
  bool singly = false;            // rotating
  Int group_size = 64, bits = 4;  // quantized
  Int slots = 2;                  // recurrent
  bool filled = true;             // recurrent
  std::vector<Layer> children;    // composite
  Int stream = 0;                 // the layer's number, depth first, a composite before its children

  static Layer read(const Json& data, Int& numbers) {
    Fields fields(data, "layer");
    Layer result;
    result.kind = fields.needed_choice(
        "kind", {"plain", "chunked", "rotating", "quantized", "recurrent", "composite"});
    result.stream = numbers++;
    if (result.kind == "recurrent") {
      result.slots = fields.integer("slots", 2, POSITIVE);
      result.filled = fields.flag("filled", true);
    } else if (result.kind == "composite") {
      for (const Json& child : fields.needed_list("children", 1, 8))
        result.children.push_back(read(child, numbers));
    } else {
      result.read_rows(fields);
    }
    fields.done();
    return result;
  }

  static std::vector<Layer> read_all(Fields& fields) {
    std::vector<Layer> result;
    Int numbers = 0;
    for (const Json& layer : fields.needed_list("layers")) result.push_back(read(layer, numbers));
    return result;
  }

 private:
  void read_rows(Fields& fields) {
    length = fields.integer("length", 0, COUNT);
    key_dim = fields.integer("key_dim", 64, POSITIVE);
    value_dim = fields.integer("value_dim", 64, POSITIVE);
    heads = fields.integer("heads", 1, POSITIVE);
    dtype = fields.choice("dtype", DTYPES);
    if (kind == "plain") {
      trim = fields.integer("trim", 0, COUNT);
    } else if (kind == "chunked") {
      chunk_size = fields.integer("chunk_size", 16, POSITIVE);
      drop_front = fields.flag("drop_front");
    } else if (kind == "rotating") {
      max_size = fields.integer("max_size", 16, POSITIVE);
      keep = fields.integer("keep", 0, COUNT);
      singly = fields.flag("singly");
    } else {
      group_size = fields.integer("group_size", 64);
      bits = fields.integer("bits", 4);
    }
  }
};

// What a container is constructed with.
struct Built {
  MaybeInt bits;
  Int group_size = 64;

  static Built read(const Json* data) {
    Built result;
    if (!data) return result;
    Fields fields(*data, "built");
    result.bits = fields.maybe("bits");
    result.group_size = fields.integer("group_size", 64);
    fields.done();
    return result;
  }
};

// Generation parameters; a scenario passes every one.
struct Parameters {
  MaybeInt max_tokens, bits;
  Int group_size = 64, start = 0, prefill_step = 512;
  std::optional<double> repetition_penalty;
  Int repetition_context_size = 20;

  static Parameters read(const Json* data) {
    Parameters result;
    if (!data) return result;
    Fields fields(*data, "parameters");
    result.max_tokens = fields.maybe("max_tokens");
    result.bits = fields.maybe("bits");
    result.group_size = fields.integer("group_size", 64);
    result.start = fields.integer("start", 0);
    result.prefill_step = fields.integer("prefill_step", 512);
    result.repetition_penalty = fields.positive_number("repetition_penalty");
    result.repetition_context_size = fields.integer("repetition_context_size", 20, POSITIVE);
    fields.done();
    return result;
  }
};

// One operation of a `cache` scenario. Only the fields of its kind mean anything.
struct Operation {
  std::string op;  // append, trim, convert, copy, save-load, state, drop-front, select
  Int rows = 0, salt = 0, bits = 0, group_size = 64, cache = 0;

  static Operation read(const Json& data) {
    Fields fields(data, "operation");
    Operation result;
    result.op = fields.needed_choice(
        "op", {"append", "trim", "convert", "copy", "save-load", "state", "drop-front", "select"});
    if (result.op == "append") {
      result.rows = fields.need_integer("rows", POSITIVE);
      result.salt = fields.integer("salt", 0, COUNT);
    } else if (result.op == "trim") {
      result.rows = fields.need_integer("rows");
    } else if (result.op == "convert") {
      result.bits = fields.need_integer("bits");
      result.group_size = fields.integer("group_size", 64);
    } else if (result.op == "select") {
      result.cache = fields.need_integer("cache", COUNT);
    }
    fields.done();
    return result;
  }
};

// One step of a `container` scenario. Only the fields of its kind mean anything.
struct Step {
  std::string act;  // append, trim, drop-front, pass
  Int rows = 0, salt = 0, group_size = 64, start = 0;
  MaybeInt bits;
  bool through_caller = false;
  std::optional<std::vector<Int>> layers;

  static Step read(const Json& data) {
    Fields fields(data, "step");
    Step result;
    result.act = fields.needed_choice("do", {"append", "trim", "drop-front", "pass"});
    if (result.act == "append") {
      result.rows = fields.need_integer("rows", POSITIVE);
      result.salt = fields.integer("salt", 0, COUNT);
      result.through_caller = fields.choice("through", {"container", "caller"}) == "caller";
      result.layers = fields.counts("layers");
    } else if (result.act == "trim") {
      result.rows = fields.need_integer("rows");
      result.layers = fields.counts("layers");
    } else if (result.act == "pass") {
      result.bits = fields.maybe("bits");
      result.group_size = fields.integer("group_size", 64);
      result.start = fields.integer("start", 0);
    }
    fields.done();
    return result;
  }
};

// One turn of an `iterate` scenario.
struct Turn {
  Int prompt_length = 0, prompt_seed = 0, nexts = 1;
  Parameters parameters;
  std::string form, sampler;
  bool boosted = false, caller_list = false;

  static Turn read(const Json& data) {
    Fields fields(data, "turn");
    Fields prompt(fields.need("prompt"), "prompt");
    Turn result;
    result.prompt_length = prompt.need_integer("length", COUNT);
    result.prompt_seed = prompt.integer("seed", 0, COUNT);
    prompt.done();
    result.parameters = Parameters::read(fields.find("parameters"));
    result.form = fields.choice("form", {"general", "sampler-first", "prompt-array"});
    result.caller_list = fields.choice("cache", {"same", "caller-list"}) == "caller-list";
    result.boosted = fields.choice("processor", {"none", "boost"}) == "boost";
    result.sampler = fields.choice("sampler", {"parameters", "argmax", "argmin"});
    result.nexts = fields.integer("nexts", 1, COUNT);
    fields.done();
    return result;
  }
};

// Rows of pattern content behind a position, as one append writes them. Values are computed when they are
// asked for.
struct Rows {
  Int count = 0, heads = 1, key_dim = 64, value_dim = 64;
  std::string dtype = "float32";
  Int stream = 0, salt = 0, position = 0;

  Int dim(int role) const { return role ? value_dim : key_dim; }

  // The values of row `index`, for keys (role 0) or values (role 1) of one head: multiples of 1/64 in [-2,
  // 2].
  std::vector<float> values(int role, Int head, Int index) const {
    const std::uint32_t row = chain_all(stream, salt, role, head, position + index);
    std::vector<float> result(static_cast<std::size_t>(dim(role)));
    for (std::size_t channel = 0; channel < result.size(); ++channel) {
      const std::uint32_t hash = fmix(row + static_cast<std::uint32_t>(channel) * GOLDEN);
      result[channel] = static_cast<float>(static_cast<int>(hash % 257) - 128) / 64.0f;
    }
    return result;
  }

  // All keys or all values as one array `[1, heads, count, dim]`, for designs that store what they are given
  // at once.
  std::vector<float> array(int role) const {
    std::vector<float> result;
    for (Int head = 0; head < heads; ++head) {
      for (Int index = 0; index < count; ++index) {
        const auto row = values(role, head, index);
        result.insert(result.end(), row.begin(), row.end());
      }
    }
    return result;
  }
};

// ================================================================ looks

// What a look at one cache shows. Leave empty what it does not have.
template <class Cache>
struct Look {
  using CachePtr = std::shared_ptr<Cache>;
  using Content = std::variant<Tensor, Packed>;

  std::string kind;  // plain, chunked, rotating, quantized, recurrent, composite; any other text otherwise
  MaybeInt offset, rows, key_dim, value_dim, group_size, bits, start_position;
  std::vector<CachePtr> children;
  std::optional<std::vector<Int>> state;  // recurrent: the first value of each slot
  std::optional<Content> keys, values;    // when content is observed: the rows a reader gets
  MaybeInt nbytes, size;                  // when accounting is observed, with the next two
  std::optional<bool> empty, trimmable;
  std::map<std::string, std::string> errors;

  // Asks for one field and keeps the error when that raises: look.ask("nbytes", [&] { look.nbytes = ...; });
  template <class Ask>
  void ask(const char* field, Ask&& ask) {
    try {
      ask();
    } catch (const std::exception& error) {
      errors[field] = error.what();
    }
  }

  Json json(const std::function<Int(const CachePtr&)>& number_of) const {
    Json data = {{"kind", kind}};
    const auto put = [&](const char* name, const auto& value) {
      if (value) data[name] = *value;
    };
    put("offset", offset), put("rows", rows), put("key_dim", key_dim), put("value_dim", value_dim);
    put("group_size", group_size), put("bits", bits), put("start_position", start_position),
        put("state", state);
    put("nbytes", nbytes), put("size", size), put("empty", empty), put("trimmable", trimmable);
    if (kind == "composite") {
      data["children"] = Json::array();
      for (const auto& child : children) data["children"].push_back(number_of(child));
    }
    const auto encode = [](const auto& tensor) { return tensor.json(); };
    if (keys) data["keys"] = std::visit(encode, *keys);
    if (values) data["values"] = std::visit(encode, *values);
    if (!errors.empty()) data["errors"] = errors;
    return data;
  }
};

// ================================================================ what you fill in

// What you declare; see the contract for the names.
struct Capabilities {
  std::vector<std::string> kinds;
  std::vector<Int> bits = {2, 3, 4, 5, 6, 8};
  std::vector<Int> group_sizes = {32, 64, 128};
  std::vector<std::string> dtypes = {"float32", "float16", "bfloat16"};
  std::vector<std::string> layers;
  std::vector<std::string> features;
};

struct Info {
  std::string name, version;
  std::string language = "C++", backend = "cpu";
  Json dialect = "proposal";  // a named dialect, or an object with all parameters
  Capabilities capabilities;

  bool has(const char* feature) const {
    const auto& all = capabilities.features;
    return std::find(all.begin(), all.end(), feature) != all.end();
  }
};

// What a write or an export of a cache gives back.
template <class Cache>
struct Exported {
  std::shared_ptr<Cache> cache;  // the new one
  MaybeInt rows;                 // rows stored in an exported array; empty for recurrent and composite
};

// What the pass without memory gives: whether it triggered, and the new list if the design returns one.
template <class Cache>
struct FreePass {
  std::optional<bool> returned;
  std::shared_ptr<std::vector<std::shared_ptr<Cache>>> list = nullptr;
};

template <class Cache, class Container>
struct Request;
template <class Cache>
class ScriptedModel;

[[noreturn]] inline void no(const char* what) {
  throw Unsupported(std::string("this driver has no ") + what);
}

// The caches. `Cache` is your own class, or a class of yours around it; identity is that of the shared
// pointer's object.
template <class Cache>
class CacheOperations {
 public:
  using CachePtr = std::shared_ptr<Cache>;
  using List = std::vector<CachePtr>;
  using ListPtr = std::shared_ptr<List>;  // a list that somebody keeps, so that it can be changed in place

  virtual ~CacheOperations() = default;

  // An empty cache of the layer's kind and parameters; a composite gets its children.
  virtual CachePtr make(const Layer&, List) { no("caches"); }
  // Write the rows behind the offset; how many rows a reader gets back from that very write.
  virtual Int append(const CachePtr&, const Rows&) { no("append"); }
  // Take rows off the end; how many were taken, 0 where it cannot be trimmed.
  virtual Int trim(const CachePtr&, Int) { no("trim"); }
  // Chunked: drop the rows beyond the chunk size at the front. Others refuse.
  virtual void drop_front(const CachePtr&) { no("drop-front"); }
  // Recurrent: replace all slots by new arrays.
  virtual void replace_state(const CachePtr&, const std::vector<std::vector<float>>&) {
    no("recurrent state");
  }
  // What the cache shows. Also asked, without content and accounting, for signatures.
  virtual Look<Cache> look(const CachePtr&, const Observe&) { no("looks"); }
  // Convert one cache directly.
  virtual CachePtr convert(const CachePtr&, Int /*bits*/, Int /*group_size*/) { no("direct conversion"); }
  virtual CachePtr copy(const CachePtr&) { no("copies"); }
  virtual Exported<Cache> save_and_load(const CachePtr&) { no("saving"); }
  virtual Exported<Cache> state_round_trip(const CachePtr&) { no("states"); }
};

// The interface to fill in. An implementation without containers or iterators leaves their types at `int`.
template <class Cache, class Container = int, class Iterator = int>
class Implementation : public CacheOperations<Cache> {
 public:
  using typename CacheOperations<Cache>::CachePtr;
  using typename CacheOperations<Cache>::List;
  using typename CacheOperations<Cache>::ListPtr;
  using ContainerPtr = std::shared_ptr<Container>;
  using IteratorPtr = std::shared_ptr<Iterator>;

  virtual Info info() const = 0;

  // Whether an exception is a clear refusal of bad input; every other one is an internal error.
  virtual bool refuses(const std::exception& error) const {
    return dynamic_cast<const std::invalid_argument*>(&error) ||
           dynamic_cast<const std::domain_error*>(&error);
  }

  // ---- resolve, quantize

  // The group size used for these head dims, or none.
  virtual MaybeInt group_size(Int /*requested*/, Int /*key_dim*/, Int /*value_dim*/) {
    no("group-size resolver");
  }
  virtual std::optional<std::pair<Int, Int>> head_dims(const CachePtr&) { no("layer queries"); }
  virtual bool is_quantizable(const CachePtr&) { no("layer queries"); }
  virtual bool is_compatible(const CachePtr&) { no("layer queries"); }
  // The rows of a `[rows, dim]` tensor, quantized along the last axis.
  virtual Packed quantize(const Tensor&, Int /*bits*/, Int /*group_size*/) { no("affine quantization"); }

  // ---- the pass

  // One pass without memory, on the list.
  virtual FreePass<Cache> free_pass(const ListPtr&, MaybeInt /*bits*/, Int /*group_size*/, Int /*start*/) {
    no("free pass");
  }
  // A container over the caller's list.
  virtual ContainerPtr make_container(const ListPtr&, const Built&) { no("container"); }
  // A container over the list that the model makes: ask it with model.new_cache().
  virtual ContainerPtr make_container(ScriptedModel<Cache>&, const Built&) {
    no("container over a model's list");
  }
  virtual List layers(const ContainerPtr&) { no("container"); }
  virtual void container_pass(const ContainerPtr&, MaybeInt /*bits*/, Int /*group_size*/, Int /*start*/) {
    no("container");
  }
  // How many looks at layers were counted so far; only differences matter.
  virtual Int accesses() { no("count of looks at layers"); }

  // ---- the iterator

  virtual IteratorPtr make_iterator(Request<Cache, Container>&) { no("token iterator"); }
  virtual std::optional<Int> next(const IteratorPtr&) { no("token iterator"); }
  virtual ContainerPtr container_of(const IteratorPtr&) { no("container of an iterator"); }
  virtual MaybeInt count(const IteratorPtr&) { return std::nullopt; }
  virtual std::optional<double> prefill_time(const IteratorPtr&) { return std::nullopt; }
};

// ================================================================ the scripted model (contract, section 6)

// The logits of one call, `[1, rows, vocab]`; a row is computed when it is looked at.
class Logits {
 public:
  Logits(std::uint32_t seen, Tokens tokens, Int vocab, bool ties)
      : seen_(seen), tokens_(std::move(tokens)), vocab_(vocab), ties_(ties) {}

  Int rows() const { return static_cast<Int>(tokens_.size()); }
  Int vocab() const { return vocab_; }

  std::vector<float> row(Int index) const {
    const std::uint32_t hash = chain(chain(seen_, tokens_.at(static_cast<std::size_t>(index))), index);
    const Int peak = static_cast<Int>(hash % static_cast<std::uint32_t>(vocab_));
    std::vector<float> result(static_cast<std::size_t>(vocab_));
    for (Int token = 0; token < vocab_; ++token) {
      const Int distance = token >= peak ? token - peak : token - peak + vocab_;
      result[static_cast<std::size_t>(token)] =
          static_cast<float>(vocab_ / 2 - (ties_ ? distance / 2 : distance));
    }
    return result;
  }

 private:
  std::uint32_t seen_;
  Tokens tokens_;
  Int vocab_;
  bool ties_;
};

struct ModelResult {
  Logits logits;
  MaybeInt state;
};

// What prepare answers with: the result of the last call, or the tokens that are left to the iterator.
struct Prepared {
  Tokens tokens;
  std::optional<ModelResult> result;
};

// The lengths of a prompt's chunks, as the declared prefill plan cuts them (PR-6).
inline std::vector<Int> chunk_lengths(Int length, Int window, const std::string& plan) {
  if (window < 1) throw Refused("prefill step " + std::to_string(window) + " is below 1");
  std::vector<Int> result;
  const auto add = [&](Int chunk) {
    if (chunk > 0) result.push_back(chunk);
  };
  if (length <= 0) return result;
  if (plan == "window" || (plan == "balanced" && length <= window)) {
    for (; length > window; length -= window) add(window);
    add(length);
  } else if (plan == "reserve-one") {
    for (--length; length > window; length -= window) add(window);
    add(length), add(1);
  } else {
    const Int chunks = (length - 1 + window - 1) / window;
    for (Int i = 0; i < chunks; ++i) add((length - 1) / chunks + (i < (length - 1) % chunks ? 1 : 0));
    add(1);
  }
  return result;
}

// The prefill plan of a dialect: of a named one, or the parameter of one that is spelled out.
inline std::string prefill_plan(const Json& dialect) {
  if (dialect.is_object()) return dialect.value("prefill", "window");
  static const std::map<std::string, std::string> named = {{"mlx-lm", "reserve-one"},
                                                           {"mlx-lm-0.29", "reserve-one"},
                                                           {"mlx-lm-0.28", "reserve-one"},
                                                           {"mlx-swift-lm", "balanced"}};
  const auto at = named.find(dialect.get<std::string>());
  return at == named.end() ? "window" : at->second;
}

// Picks the next token from the logits of one position.
struct Sampler {
  virtual ~Sampler() = default;
  virtual Int sample(const std::vector<float>& logits) = 0;
};

// Changes logits before sampling and is told what was sampled.
struct Processor {
  virtual ~Processor() = default;
  virtual void prompt(const Tokens& tokens) = 0;
  virtual std::vector<float> process(std::vector<float> logits) = 0;
  virtual void did_sample(Int token) = 0;
};

// The events of one turn.
class Trace {
 public:
  Json events = Json::array();

  void log(const char* event) { events.push_back({{"event", event}}); }
  void log_token(const char* event, Int token) { events.push_back({{"event", event}, {"token", token}}); }
};

template <class Cache>
std::string signature(CacheOperations<Cache>& caches, const std::shared_ptr<Cache>& cache) {
  const Look<Cache> look = caches.look(cache, Observe{});
  if (look.kind == "plain") return "S";
  if (look.kind == "chunked") return "C";
  if (look.kind == "rotating") return "R";
  if (look.kind == "recurrent") return "M";
  if (look.kind == "quantized")
    return "Q:" + std::to_string(look.group_size.value_or(0)) + "," + std::to_string(look.bits.value_or(0));
  std::string inside;
  for (const auto& child : look.children) inside += (inside.empty() ? "" : ",") + signature(caches, child);
  return "L(" + inside + ")";
}

template <class Cache>
Json signatures(CacheOperations<Cache>& caches, const std::vector<std::shared_ptr<Cache>>& list) {
  Json result = Json::array();
  for (const auto& cache : list) result.push_back(signature(caches, cache));
  return result;
}

// Writes rows to the cache that now sits at a layer's place. None for recurrent and composite ones.
template <class Cache>
MaybeInt write_rows(CacheOperations<Cache>& caches, const Layer& layer, const std::shared_ptr<Cache>& cache,
                    Int rows, Int salt) {
  const Look<Cache> look = caches.look(cache, Observe{});
  if (look.kind == "composite") {
    for (std::size_t i = 0; i < look.children.size(); ++i)
      write_rows(caches, layer.children.at(i), look.children[i], rows, salt);
    return std::nullopt;
  }
  if (look.kind == "recurrent") {
    const Int before = look.state && !look.state->empty() ? look.state->front() : 0;
    put_number(caches, layer, cache, (31 * before + rows + salt + 1) % STATE_MODULUS);
    return std::nullopt;
  }
  Rows content;
  content.count = rows, content.heads = layer.heads, content.key_dim = layer.key_dim,
  content.value_dim = layer.value_dim;
  content.dtype = layer.dtype, content.stream = layer.stream, content.salt = salt;
  content.position = look.offset.value_or(0);
  return caches.append(cache, content);
}

// Replaces every slot of a recurrent cache by the array that stands for the number `s`.
template <class Cache>
void put_number(CacheOperations<Cache>& caches, const Layer& layer, const std::shared_ptr<Cache>& cache,
                Int s) {
  std::vector<std::vector<float>> arrays;
  for (Int slot = 0; slot < layer.slots; ++slot)
    arrays.emplace_back(4, static_cast<float>((s + slot) % STATE_MODULUS));
  caches.replace_state(cache, arrays);
}

// How the scripted model behaves.
struct Script {
  Int seed = 0, vocab = 61;
  std::string prepare = "tokens", state = "none";
  bool ties = false;

  explicit Script(const Json* data) {
    if (!data) return;
    Fields fields(*data, "model");
    seed = fields.integer("seed", 0, COUNT);
    vocab = fields.integer("vocab", 61, {2, 65536});
    prepare = fields.choice("prepare", {"tokens", "logits", "all", "raise"});
    state = fields.choice("state", {"none", "always", "alternate"});
    ties = fields.flag("ties");
    fields.done();
  }
};

template <class Cache>
class ScriptedModel {
 public:
  using CachePtr = std::shared_ptr<Cache>;
  using List = std::vector<CachePtr>;
  using ListPtr = std::shared_ptr<List>;

  ScriptedModel(CacheOperations<Cache>& caches, const std::vector<Layer>& slots, List built, std::string plan,
                Script script = Script(nullptr))
      : caches_(caches),
        slots_(slots),
        built_(std::move(built)),
        plan_(std::move(plan)),
        script_(std::move(script)) {}

  // One forward pass over `[1, length]` tokens, which also writes to the caches; no list is a null pointer.
  ModelResult operator()(const std::vector<Tokens>& tokens, const List* list, MaybeInt state) {
    if (tokens.size() != 1)
      throw std::runtime_error("the model was called without a leading batch axis of 1");
    const Tokens& row = tokens.front();
    const List& layers = list ? *list : nothing_;
    last_seen = layers;
    log_call(row, layers, state, list == nullptr);
    std::uint32_t seen = chain_all(script_.seed);
    for (const auto& layer : layers) seen = fold(seen, layer);
    seen = chain(seen, state ? *state + 1 : 0);
    const Int call = calls_++;
    for (std::size_t i = 0; i < std::min(slots_.size(), layers.size()); ++i)
      write_rows(caches_, slots_[i], layers[i], static_cast<Int>(row.size()), call);
    return {Logits(seen, row, script_.vocab, script_.ties),
            next_state(call, state, row.empty() ? 0 : row.back())};
  }

  // The prefill as the script says.
  Prepared prepare(const Tokens& tokens, const List& list, Int window) {
    trace->events.push_back({{"event", "prepare"}, {"length", tokens.size()}, {"window", window}});
    if (script_.prepare == "raise") throw PrepareFailed("scripted prepare failed");
    const auto lengths = chunk_lengths(static_cast<Int>(tokens.size()), window, plan_);
    if (lengths.empty()) return {};
    const std::size_t fed = script_.prepare == "tokens" ? lengths.size() - 1 : lengths.size();
    std::optional<ModelResult> last;
    auto at = tokens.begin();
    for (std::size_t i = 0; i < fed; ++i) {
      const Tokens chunk(at, at + lengths[i]);
      const MaybeInt state = script_.prepare == "logits" && last ? last->state : std::nullopt;
      last = (*this)({chunk}, list.empty() ? nullptr : &list, state);
      at += lengths[i];
    }
    if (script_.prepare == "logits") return {{}, last};
    return {script_.prepare == "tokens" ? Tokens(at, tokens.end()) : Tokens(), std::nullopt};
  }

  // A new list of the scenario's layers.
  ListPtr new_cache() {
    ++requests;
    if (trace) trace->log("new-cache");
    auto list = std::make_shared<List>(built_);
    if (!answered) answered = list;
    return list;
  }

  Int vocab() const { return script_.vocab; }

  // ---- for the kit

  Trace* trace = nullptr;
  ListPtr answered;  // the first list that was answered with
  List last_seen;    // the list of the last call
  Int requests = 0;

 private:
  std::uint32_t fold(std::uint32_t seen, const CachePtr& cache) {
    const Look<Cache> look = caches_.look(cache, Observe{});
    if (look.kind == "composite") {
      seen = chain(chain(seen, 5), static_cast<Int>(look.children.size()));
      for (const auto& child : look.children) seen = fold(seen, child);
      return seen;
    }
    if (look.kind == "quantized")
      return chain(chain(chain(chain(seen, 3), look.group_size.value_or(0)), look.bits.value_or(0)),
                   look.offset.value_or(0));
    if (look.kind == "recurrent")
      return chain(chain(seen, 4), look.state && !look.state->empty() ? look.state->front() : 0);
    const Int code = look.kind == "rotating" ? 2 : look.kind == "chunked" ? 6 : 1;
    return chain(chain(seen, code), look.offset.value_or(0));
  }

  MaybeInt next_state(Int call, MaybeInt state, Int last_token) const {
    if (script_.state == "none" || (script_.state == "alternate" && call % 2 == 1)) return std::nullopt;
    return static_cast<Int>(chain_all(state.value_or(0), last_token)) % STATE_MODULUS;
  }

  void log_call(const Tokens& row, const List& layers, MaybeInt state, bool no_cache) {
    Json offsets = Json::array();
    for (const auto& layer : layers) {
      const MaybeInt offset = caches_.look(layer, Observe{}).offset;
      offsets.push_back(offset ? Json(*offset) : Json());
    }
    Json event = {{"event", "call"},
                  {"tokens", row},
                  {"offsets", offsets},
                  {"caches", signatures(caches_, layers)},
                  {"no_cache", no_cache}};
    if (state) event["state"] = *state;
    trace->events.push_back(std::move(event));
  }

  CacheOperations<Cache>& caches_;
  const std::vector<Layer>& slots_;
  List built_;
  std::string plan_;
  List nothing_;
  Script script_;
  Int calls_ = 0;
};

// ---------------------------------------------------------------- processors and samplers that log

// Forces another token at each call.
class BoostProcessor : public Processor {
 public:
  void prompt(const Tokens&) override {}
  std::vector<float> process(std::vector<float> logits) override {
    logits[chain_all(99, calls_++) % logits.size()] += 1024.0f;
    return logits;
  }
  void did_sample(Int) override {}

 private:
  Int calls_ = 0;
};

// The lowest index of the highest (or lowest) logit.
class ExtremeSampler : public Sampler {
 public:
  explicit ExtremeSampler(bool highest) : highest_(highest) {}
  Int sample(const std::vector<float>& logits) override {
    const auto at = highest_ ? std::max_element(logits.begin(), logits.end())
                             : std::min_element(logits.begin(), logits.end());
    return at - logits.begin();
  }

 private:
  bool highest_;
};

class LoggedSampler : public Sampler {
 public:
  LoggedSampler(std::shared_ptr<Sampler> inner, Trace& trace) : inner_(std::move(inner)), trace_(trace) {}
  Int sample(const std::vector<float>& logits) override {
    const Int token = inner_->sample(logits);
    trace_.log_token("sample", token);
    return token;
  }

 private:
  std::shared_ptr<Sampler> inner_;
  Trace& trace_;
};

class LoggedProcessor : public Processor {
 public:
  LoggedProcessor(std::shared_ptr<Processor> inner, Trace& trace, std::function<Json()> watch)
      : inner_(std::move(inner)), trace_(trace), watch_(std::move(watch)) {}
  void prompt(const Tokens& tokens) override {
    trace_.events.push_back({{"event", "prompt"}, {"tokens", tokens}});
    inner_->prompt(tokens);
  }
  std::vector<float> process(std::vector<float> logits) override {
    trace_.events.push_back({{"event", "process"}, {"caches", watch_()}});
    return inner_->process(std::move(logits));
  }
  void did_sample(Int token) override {
    trace_.log_token("did-sample", token);
    inner_->did_sample(token);
  }

 private:
  std::shared_ptr<Processor> inner_;
  Trace& trace_;
  std::function<Json()> watch_;
};

// What a turn hands to the iterator that you build. Exactly these things; use what your form takes.
template <class Cache, class Container>
struct Request {
  std::string form;  // general, sampler-first, prompt-array
  Tokens prompt;
  ScriptedModel<Cache>& model;
  std::shared_ptr<std::vector<std::shared_ptr<Cache>>> list;  // null: none was given
  std::shared_ptr<Container> container;                       // null: none was given
  Parameters parameters;
  std::shared_ptr<Processor> processor;  // the explicit one; null: that of the parameters
  std::shared_ptr<Sampler>
      sampler;  // the explicit one; null: that of the parameters (never null in sampler-first)

  Trace& trace;
  std::function<Json()> watch = {};
  std::shared_ptr<Container>* watched = nullptr;

  // Put your parameters' own sampler and processor through these, so that what they do is logged.
  std::shared_ptr<Sampler> logged(std::shared_ptr<Sampler> own) const {
    return own ? std::make_shared<LoggedSampler>(std::move(own), trace) : nullptr;
  }
  std::shared_ptr<Processor> logged(std::shared_ptr<Processor> own) const {
    return own ? std::make_shared<LoggedProcessor>(std::move(own), trace, watch) : nullptr;
  }
  // Call this when a deprecated form warns.
  void deprecated() const { trace.log("deprecated"); }
  // Call this, before the prefill, with the container that your iterator made for itself: processors log what
  // it lists.
  void works_on(std::shared_ptr<Container> own) const { *watched = std::move(own); }
};

// ================================================================ running scenarios

// Numbers every cache object that is met, and keeps it so that the number stays its own.
template <class Cache>
class Registry {
 public:
  using CachePtr = std::shared_ptr<Cache>;

  Registry(CacheOperations<Cache>& caches, Observe observe) : caches_(caches), observe_(observe) {}

  Int meet(const CachePtr& cache) {
    const auto [at, added] = numbers_.try_emplace(cache.get(), static_cast<Int>(objects_.size()));
    if (added) objects_.push_back(cache);
    const Int number = at->second;
    for (const auto& child : caches_.look(cache, Observe{}).children) meet(child);
    return number;
  }

  Json meet_all(const std::vector<CachePtr>& list) {
    Json result = Json::array();
    for (const auto& cache : list) result.push_back(meet(cache));
    return result;
  }

  Json views() {
    Json result = Json::array();
    for (std::size_t i = 0; i < objects_.size(); ++i)  // a look may meet new children
      result.push_back(
          caches_.look(objects_[i], observe_).json([this](const CachePtr& child) { return meet(child); }));
    return result;
  }

  Int size() const { return static_cast<Int>(objects_.size()); }
  const CachePtr& at(Int number) const { return objects_.at(static_cast<std::size_t>(number)); }

 private:
  CacheOperations<Cache>& caches_;
  Observe observe_;
  std::vector<CachePtr> objects_;
  std::unordered_map<const Cache*, Int> numbers_;
};

template <class Cache, class Container, class Iterator>
class Runner {
 public:
  using Impl = Implementation<Cache, Container, Iterator>;
  using CachePtr = std::shared_ptr<Cache>;
  using List = std::vector<CachePtr>;
  using ListPtr = std::shared_ptr<List>;
  using ContainerPtr = std::shared_ptr<Container>;
  using IteratorPtr = std::shared_ptr<Iterator>;

  explicit Runner(Impl& implementation) : impl_(implementation), info_(implementation.info()) {}

  const Info& info() const { return info_; }

  bool refused(const std::exception& error) const {
    return dynamic_cast<const Refused*>(&error) || impl_.refuses(error);
  }

  // The observation of a scenario; a refusal of all of it is an observation too. For your own test runner.
  Json answer(const Json& scenario) {
    try {
      return run(scenario);
    } catch (const std::exception& error) {
      if (!refused(error)) throw;
      return {{"kind", "refused"}, {"message", error.what()}};
    }
  }

  // The observation of a scenario. Throws Unsupported, BadRequest, what `refuses` calls a refusal, or
  // anything else.
  Json run(const Json& scenario) {
    Fields fields(scenario, "scenario");
    if (fields.integer("version", 1) != 1) fields.wrong("version", "this kit knows version 1");
    const std::string kind = fields.needed_choice(
        "kind", {"resolve", "quantize", "cache", "container", "iterate", "generate"});
    const auto& kinds = info_.capabilities.kinds;
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end())
      throw Unsupported("this driver answers no " + kind + " scenarios");
    if (kind == "resolve") return resolve(fields);
    if (kind == "quantize") return quantize(fields);
    if (kind == "cache") return CacheBench(*this, fields).run();
    if (kind == "container") return ContainerBench(*this, fields).run();
    if (kind == "iterate") return IterateBench(*this, fields).run();
    throw Unsupported("the kit answers no " + kind + " scenarios");
  }

 private:
  // ------------------------------------------------------------ resolve, quantize

  Json resolve(Fields& fields) {
    const Int requested = fields.need_integer("requested");
    const MaybeInt key_dim = fields.maybe("key_dim"), value_dim = fields.maybe("value_dim");
    std::optional<Layer> layer;
    Int numbers = 0;
    if (const Json* given = fields.find("layer")) layer = Layer::read(*given, numbers);
    fields.done();
    if (layer) {
      if (key_dim || value_dim) throw Refused("head dims and a layer are both given; give one of them");
      return resolve_layer(requested, *layer);
    }
    if (!key_dim || !value_dim) throw Refused("one head dim is missing; give both, or a layer");
    return {{"kind", "resolve"}, {"group_size", or_null(impl_.group_size(requested, *key_dim, *value_dim))}};
  }

  Json resolve_layer(Int requested, const Layer& layer) {
    const CachePtr cache = build(layer);
    const auto dims = impl_.head_dims(cache);
    const bool quantizable = impl_.is_quantizable(cache);
    const MaybeInt size =
        quantizable && dims ? impl_.group_size(requested, dims->first, dims->second) : std::nullopt;
    Json answer = {{"kind", "resolve"}, {"group_size", or_null(size)}, {"quantizable", quantizable}};
    answer["compatible"] =
        quantizable && impl_.is_compatible(cache);  // HD-3: asked of quantizable layers only
    if (dims) answer["head_dims"] = {dims->first, dims->second};
    return answer;
  }

  Json quantize(Fields& fields) {
    const Tensor tensor = read_tensor(fields.need("tensor"));
    const Int bits = fields.need_integer("bits"), group_size = fields.need_integer("group_size");
    fields.done();
    if (tensor.shape.size() != 2) throw Refused("the tensor is not 2-d; give [rows, dim]");
    Json answer = impl_.quantize(tensor, bits, group_size).json();
    answer["kind"] = "quantize";
    return answer;
  }

  static Json or_null(MaybeInt value) { return value ? Json(*value) : Json(); }

  // ------------------------------------------------------------ layers

  // The layer's cache, filled as the scenario says.
  CachePtr build(const Layer& layer) {
    List children;
    for (const Layer& child : layer.children) children.push_back(build(child));
    CachePtr cache = impl_.make(layer, children);
    if (layer.kind == "recurrent") {
      if (layer.filled) put_number(impl_, layer, cache, Int(chain_all(layer.stream)) % STATE_MODULUS);
      return cache;
    }
    if (layer.singly) {
      for (Int row = 0; row < layer.length; ++row) write_rows(impl_, layer, cache, 1, 0);
    } else if (layer.length) {
      write_rows(impl_, layer, cache, layer.length, 0);
    }
    if (layer.trim) impl_.trim(cache, layer.trim);
    if (layer.drop_front) impl_.drop_front(cache);
    return cache;
  }

  List build_all(const std::vector<Layer>& layers) {
    List list;
    for (const Layer& layer : layers) list.push_back(build(layer));
    return list;
  }

  Json error_of(const std::exception& error) {
    if (dynamic_cast<const Unsupported*>(&error)) throw;
    const bool model = dynamic_cast<const PrepareFailed*>(&error);
    const char* kind = model ? "model" : refused(error) ? "refused" : "internal";
    return {{"kind", kind}, {"message", error.what()}};
  }

  // ------------------------------------------------------------ cache

  class CacheBench {
   public:
    CacheBench(Runner& runner, Fields& fields)
        : runner_(runner), impl_(runner.impl_), registry_(impl_, Observe::read(fields.find("observe"))) {
      Int numbers = 0;
      layer_ = Layer::read(fields.need("layer"), numbers);
      for (const Json& operation : fields.list("operations"))
        operations_.push_back(Operation::read(operation));
      fields.done();
    }

    Json run() {
      make_current(runner_.build(layer_), &layer_);
      Json records = Json::array({record({})});
      for (const Operation& operation : operations_) records.push_back(attempt(operation));
      return {{"kind", "cache"}, {"records", records}};
    }

   private:
    Json record(Json outcome) {
      outcome["current"] = registry_.meet(current_);
      outcome["objects"] = registry_.views();
      return outcome;
    }

    Json attempt(const Operation& operation) {
      Json outcome = Json::object();
      try {
        if (const MaybeInt result = perform(operation)) outcome["result"] = *result;
      } catch (const std::exception& error) {
        outcome["error"] = runner_.error_of(error);
      }
      return record(outcome);
    }

    MaybeInt perform(const Operation& asked) {
      const std::string& op = asked.op;
      if (op == "append") return write_rows(impl_, *slot(), current_, asked.rows, asked.salt);
      if (op == "trim") return impl_.trim(current_, asked.rows);
      if (op == "convert") return make_current(impl_.convert(current_, asked.bits, asked.group_size), slot());
      if (op == "copy") return make_current(impl_.copy(current_), slot());
      if (op == "save-load") return exported(impl_.save_and_load(current_));
      if (op == "state") return exported(impl_.state_round_trip(current_));
      if (op == "drop-front") return impl_.drop_front(current_), std::nullopt;
      if (asked.cache >= registry_.size()) throw Refused("there is no cache " + std::to_string(asked.cache));
      current_ = registry_.at(asked.cache);
      return std::nullopt;
    }

    MaybeInt exported(const Exported<Cache>& made) {
      make_current(made.cache, slot());
      return made.rows;
    }

    const Layer* slot() { return slots_.at(registry_.meet(current_)); }

    MaybeInt make_current(const CachePtr& cache, const Layer* slot) {
      current_ = cache;
      keep_slot(cache, slot);
      return std::nullopt;
    }

    void keep_slot(const CachePtr& cache, const Layer* slot) {
      slots_.try_emplace(registry_.meet(cache), slot);
      const List children = impl_.look(cache, Observe{}).children;
      for (std::size_t i = 0; i < std::min(children.size(), slot->children.size()); ++i)
        keep_slot(children[i], &slot->children[i]);
    }

    Runner& runner_;
    Impl& impl_;
    Registry<Cache> registry_;
    Layer layer_;
    std::vector<Operation> operations_;
    CachePtr current_;
    std::unordered_map<Int, const Layer*> slots_;
  };

  // ------------------------------------------------------------ container

  class ContainerBench {
   public:
    ContainerBench(Runner& runner, Fields& fields)
        : runner_(runner),
          impl_(runner.impl_),
          observe_(Observe::read(fields.find("observe"))),
          registry_(impl_, observe_),
          layers_(Layer::read_all(fields)) {
      free_ = fields.choice("form", {"container", "free"}) == "free";
      from_model_ = fields.choice("given", {"list", "model"}) == "model" && !free_;
      built_ = Built::read(fields.find("built"));
      has_twin_ = fields.flag("twin");
      for (const Json& step : fields.list("steps")) steps_.push_back(Step::read(step));
      fields.done();
    }

    Json run() {
      hold(runner_.build_all(layers_));
      Json records = Json::array({record({})});
      for (const Step& step : steps_) records.push_back(record(attempt(step)));
      return {{"kind", "container"}, {"list_requests", requests_}, {"steps", records}};
    }

   private:
    void hold(const List& list) {
      registry_.meet_all(list);
      caller_ = std::make_shared<List>(list);
      const auto second = std::make_shared<List>(list);
      if (free_) {
        working_ = caller_;
        twin_list_ = second;
        return;
      }
      if (from_model_) {
        ScriptedModel<Cache> model(impl_, layers_, list, "window");
        container_ = impl_.make_container(model, built_);
        requests_ = model.requests;
      } else {
        container_ = impl_.make_container(caller_, built_);
      }
      if (has_twin_) twin_ = impl_.make_container(second, built_);
    }

    // Each holder's current list, in the order in which new objects are numbered.
    std::vector<std::pair<const char*, List>> lists() {
      const List working = free_ ? *working_ : impl_.layers(container_);
      std::vector<std::pair<const char*, List>> result = {{"container", working}, {"alias", working}};
      if (!from_model_) result.emplace_back("caller", *caller_);
      if (has_twin_) result.emplace_back("twin", free_ ? *twin_list_ : impl_.layers(twin_));
      return result;
    }

    Json record(Json outcome) {
      outcome["holders"] = Json::object();
      for (const auto& [name, list] : lists()) outcome["holders"][name] = registry_.meet_all(list);
      outcome["objects"] = registry_.views();
      return outcome;
    }

    Json attempt(const Step& step) {
      Json outcome = Json::object();
      try {
        perform(step, outcome);
      } catch (const std::exception& error) {
        outcome["error"] = runner_.error_of(error);
      }
      return outcome;
    }

    void perform(const Step& step, Json& outcome) {
      if (step.act == "pass") return run_pass(step, outcome);
      if (step.through_caller && from_model_) no("caller's list here: the model was asked for one");
      const List list = step.through_caller ? *caller_ : lists().front().second;
      if (step.act == "append") {
        for (const std::size_t place : places(step))
          write_rows(impl_, layers_[place], list.at(place), step.rows, step.salt);
      } else if (step.act == "trim") {
        Json trimmed = Json::array();
        for (const std::size_t place : places(step)) trimmed.push_back(impl_.trim(list.at(place), step.rows));
        outcome["trimmed"] = trimmed;
      } else {
        for (const auto& cache : list) {
          if (impl_.look(cache, Observe{}).kind == "chunked") impl_.drop_front(cache);
        }
      }
    }

    void run_pass(const Step& step, Json& outcome) {
      const bool counting = observe_.accesses && runner_.info_.has("accesses");
      const Int before = counting ? impl_.accesses() : 0;
      try {
        if (free_) {
          const FreePass<Cache> answer = impl_.free_pass(working_, step.bits, step.group_size, step.start);
          if (answer.list) working_ = answer.list;
          if (answer.returned) outcome["returned"] = *answer.returned;
        } else {
          impl_.container_pass(container_, step.bits, step.group_size, step.start);
        }
      } catch (const std::exception& error) {
        outcome["error"] = runner_.error_of(error);
      }
      if (counting) outcome["accesses"] = impl_.accesses() - before;
    }

    std::vector<std::size_t> places(const Step& step) const {
      std::vector<std::size_t> result;
      for (std::size_t place = 0; !step.layers && place < layers_.size(); ++place) result.push_back(place);
      if (step.layers) result.assign(step.layers->begin(), step.layers->end());
      for (const std::size_t place : result) {
        if (place >= layers_.size())
          throw Refused("a step names layer " + std::to_string(place) + ", which there is not");
      }
      return result;
    }

    Runner& runner_;
    Impl& impl_;
    Observe observe_;
    Registry<Cache> registry_;
    std::vector<Layer> layers_;
    bool free_ = false, from_model_ = false, has_twin_ = false;
    Built built_;
    std::vector<Step> steps_;
    ListPtr caller_, working_, twin_list_;
    ContainerPtr container_, twin_;
    Int requests_ = 0;
  };

  // ------------------------------------------------------------ iterate

  class IterateBench {
   public:
    IterateBench(Runner& runner, Fields& fields)
        : runner_(runner),
          impl_(runner.impl_),
          registry_(impl_, Observe::read(fields.find("observe"))),
          layers_(Layer::read_all(fields)),
          given_(fields.choice("given", {"list", "model", "container", "both"})),
          built_(Built::read(fields.find("built"))),
          script_(fields.find("model")),
          turns_(read_turns(fields)),
          list_(runner.build_all(layers_)),
          model_(impl_, layers_, list_, prefill_plan(runner.info_.dialect), script_) {
      registry_.meet_all(list_);
      if (given_ != "model") caller_ = std::make_shared<List>(list_);
      if (given_ == "list" || given_ == "both") passed_list_ = caller_;
      if (given_ == "container" || given_ == "both")
        kept_ = passed_container_ = impl_.make_container(caller_, built_);
    }

    Json run() {
      Json turns = Json::array();
      for (const Turn& turn : turns_) turns.push_back(play(turn));
      return {{"kind", "iterate"}, {"turns", turns}};
    }

   private:
    static std::vector<Turn> read_turns(Fields& fields) {
      std::vector<Turn> turns;
      for (const Json& turn : fields.needed_list("turns", 1, 4)) turns.push_back(Turn::read(turn));
      fields.done();
      return turns;
    }

    Json play(const Turn& turn) {
      trace_.events = Json::array();
      model_.trace = &trace_;
      model_.last_seen.clear();
      Json outcome = Json::object();
      IteratorPtr iterator;
      try {
        iterator = build(turn);
        outcome_times(outcome, iterator);
        for (Int asked = 0; asked < turn.nexts; ++asked) ask(iterator);
      } catch (const std::exception& error) {
        outcome["error"] = runner_.error_of(error);
      }
      if (iterator) finish(outcome, iterator);
      outcome["trace"] = trace_.events;
      record(outcome, iterator);
      return outcome;
    }

    void ask(const IteratorPtr& iterator) {
      trace_.log("next");
      const std::optional<Int> token = impl_.next(iterator);
      if (token) trace_.log_token("token", *token);
      else trace_.log("end");
    }

    void outcome_times(Json& outcome, const IteratorPtr& iterator) {
      if (const auto seconds = impl_.prefill_time(iterator)) outcome["prefill_times"] = {*seconds, *seconds};
    }

    void finish(Json& outcome, const IteratorPtr& iterator) {
      if (const MaybeInt count = impl_.count(iterator)) outcome["count"] = *count;
      if (outcome.contains("prefill_times")) outcome["prefill_times"][1] = *impl_.prefill_time(iterator);
    }

    IteratorPtr build(const Turn& turn) {
      if (turn.caller_list) {
        passed_list_ = caller_ ? caller_ : model_.answered;
        passed_container_ = nullptr;
      }
      watched_ = passed_container_;
      Request<Cache, Container> request{turn.form,    prompt_of(turn),   model_,
                                        passed_list_, passed_container_, turn.parameters,
                                        nullptr,      nullptr,           trace_};
      request.watch = [this] {
        return signatures<Cache>(impl_, watched_ ? impl_.layers(watched_) : model_.last_seen);
      };
      request.watched = &watched_;
      if (turn.boosted) request.processor = request.logged(std::make_shared<BoostProcessor>());
      if (turn.sampler != "parameters" || turn.form == "sampler-first")
        request.sampler = request.logged(std::make_shared<ExtremeSampler>(turn.sampler != "argmin"));
      const IteratorPtr made = impl_.make_iterator(request);
      if (!passed_container_) kept_ = impl_.container_of(made);
      passed_list_ = nullptr;
      passed_container_ = kept_;
      return made;
    }

    Tokens prompt_of(const Turn& turn) const {
      Tokens tokens;
      for (Int i = 0; i < turn.prompt_length; ++i)
        tokens.push_back(Int(chain_all(turn.prompt_seed, i)) % model_.vocab());
      return tokens;
    }

    // What every holder lists, in the order in which new objects are numbered, and a look at every object.
    void record(Json& outcome, const IteratorPtr& iterator) {
      Json holders = Json::object();
      if (kept_) {
        holders["container"] =
            registry_.meet_all(impl_.layers(iterator ? impl_.container_of(iterator) : kept_));
        holders["alias"] = registry_.meet_all(impl_.layers(kept_));
      }
      if (caller_) holders["caller"] = registry_.meet_all(*caller_);
      outcome["holders"] = holders;
      outcome["objects"] = registry_.views();
    }

    Runner& runner_;
    Impl& impl_;
    Registry<Cache> registry_;
    std::vector<Layer> layers_;
    std::string given_;
    Built built_;
    Script script_;
    std::vector<Turn> turns_;
    List list_;
    ScriptedModel<Cache> model_;
    Trace trace_;
    ListPtr caller_, passed_list_;
    ContainerPtr kept_, passed_container_, watched_;  // kept: the container that the caller has
  };

  Impl& impl_;
  Info info_;
};

// ================================================================ vectors

// One vector file: a scenario with the answer that is right in some dialects. For your own test runner.
struct Vector {
  std::string id;
  Json dialects, needs, scenario, expected;

  // Every vector in a folder such as goldens/vectors.
  static std::vector<Vector> all(const std::filesystem::path& folder) {
    std::vector<Vector> vectors;
    for (const auto& file : std::filesystem::recursive_directory_iterator(folder)) {
      if (file.path().extension() != ".json") continue;
      std::ifstream stream(file.path());
      const Json data = Json::parse(stream);
      const Json needs = data.value("needs", Json::array());
      vectors.push_back(
          {data.at("id"), data.at("dialects"), needs, data.at("scenario"), data.at("expected")});
    }
    return vectors;
  }

  // Whether it holds for the dialect, and asks for nothing that is not declared.
  bool applies_to(const Info& info) const {
    if (std::find(dialects.begin(), dialects.end(), info.dialect) == dialects.end()) return false;
    return std::all_of(needs.begin(), needs.end(), [&](const Json& need) { return meets(info, need); });
  }

  // Where an answer is not the expected one; empty when it is. Texts, times and spare capacity are not compared,
  // and looks at layers only where none may be made. Any error is as good as another but the model's own.
  std::string difference(const Json& answer) const { return first_difference("answer", expected, answer); }

 private:
  // A need such as `feature:copy`, or alternatives: `feature:save-load|feature:state`.
  static bool meets(const Info& info, const std::string& need) {
    if (const auto bar = need.find('|'); bar != std::string::npos)
      return meets(info, need.substr(0, bar)) || meets(info, need.substr(bar + 1));
    const Capabilities& can = info.capabilities;
    const auto colon = need.find(':');
    const std::string sort = need.substr(0, colon), name = need.substr(colon + 1);
    const auto among = [](const auto& all, const auto& one) {
      return std::find(all.begin(), all.end(), one) != all.end();
    };
    if (sort == "bits") return among(can.bits, std::stoll(name));
    return among(sort == "kind"    ? can.kinds
                 : sort == "layer" ? can.layers
                 : sort == "dtype" ? can.dtypes
                                   : can.features,
                 name);
  }

  static bool is_error(const Json& record) {
    const Json error = record.value("error", Json());
    return error.is_object() && error.value("kind", "") != "model";
  }

  static std::string first_difference(const std::string& where, const Json& wanted, const Json& given) {
    if (wanted.is_object() && given.is_object()) {
      Json names = wanted;
      names.update(given);
      for (const auto& item : names.items()) {
        const std::string& name = item.key();
        if (name == "message" || name == "nbytes" || name == "prefill_times") continue;
        if (name == "accesses" && !wanted.contains(name)) continue;
        if (name == "error" && is_error(wanted) && is_error(given)) continue;
        const std::string inside = first_difference(where + "." + name, wanted.value(name, Json()),
                                                    given.value(name, Json()));  // absent is null
        if (!inside.empty()) return inside;
      }
      return "";
    }
    if (wanted.is_array() && given.is_array() && wanted.size() == given.size()) {
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        const std::string inside =
            first_difference(where + "[" + std::to_string(i) + "]", wanted[i], given[i]);
        if (!inside.empty()) return inside;
      }
      return "";
    }
    return wanted == given ? "" : where + " is " + given.dump() + ", expected " + wanted.dump();
  }
};

// ================================================================ the wire

// Answers requests, one JSON object a line. `answer` takes a line and gives the line that answers it.
template <class Cache, class Container, class Iterator>
class Server {
 public:
  explicit Server(Implementation<Cache, Container, Iterator>& implementation)
      : impl_(implementation), runner_(implementation) {}

  bool done = false;

  std::string answer(const std::string& line) {
    Json id;
    try {
      const Json request = Json::parse(line, nullptr, false);
      if (request.is_discarded()) throw BadRequest(NOT_JSON, "not JSON: " + line.substr(0, 200));
      if (!request.is_object() || request.value("jsonrpc", "") != "2.0" || !request.contains("method"))
        throw BadRequest(BAD_REQUEST, "not a request: " + line.substr(0, 200));
      id = request.value("id", Json());
      return text({{"jsonrpc", "2.0"}, {"id", id}, {"result", handle(request)}});
    } catch (const BadRequest& error) {
      return failure(id, error.code, "protocol", error.what());
    } catch (const Unsupported& error) {
      return failure(id, UNSUPPORTED, "unsupported", error.what());
    } catch (const Json::exception& error) {  // a field of another type than the schema says
      return failure(id, BAD_PARAMS, "protocol", error.what());
    } catch (const std::exception& error) {
      if (runner_.refused(error)) return failure(id, REFUSED, "refused", error.what());
      return failure(id, INTERNAL, "internal", error.what());
    }
  }

 private:
  Json handle(const Json& request) {
    const Json& method = request.at("method");
    const Json params = request.value("params", Json::object());
    if (method == "initialize") return initialize(params);
    if (method == "shutdown") {
      done = true;
      return Json::object();
    }
    if (method != "run")
      throw BadRequest(NO_METHOD, "no such method; there are initialize, run and shutdown");
    if (!initialized_) throw BadRequest(BAD_REQUEST, "run before initialize; initialize first");
    return runner_.run(params.at("scenario"));
  }

  Json initialize(const Json& params) {
    const Json range = params.value("protocol", Json::object());
    if (range.value("min", 1) > 1 || range.value("max", 1) < 1)
      throw BadRequest(BAD_PARAMS, "this kit speaks protocol 1; update the older side");
    initialized_ = true;
    const Info& info = runner_.info();
    const Capabilities& can = info.capabilities;
    return {{"protocol", 1},
            {"implementation",
             {{"name", info.name},
              {"version", info.version},
              {"language", info.language},
              {"backend", info.backend}}},
            {"dialect", info.dialect},
            {"capabilities",
             {{"kinds", can.kinds},
              {"bits", can.bits},
              {"group_sizes", can.group_sizes},
              {"dtypes", can.dtypes},
              {"layers", can.layers},
              {"features", can.features}}}};
  }

  static std::string failure(const Json& id, int code, const char* kind, const std::string& message) {
    return text({{"jsonrpc", "2.0"},
                 {"id", id},
                 {"error", {{"code", code}, {"message", message}, {"data", {{"kind", kind}}}}}});
  }

  static std::string text(const Json& message) {
    return message.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

  Implementation<Cache, Container, Iterator>& impl_;
  Runner<Cache, Container, Iterator> runner_;
  bool initialized_ = false;
};

// stdout belongs to the answers: what anything else prints goes to stderr from here on.
inline std::FILE* take_stdout() {
#ifdef _WIN32
  return stdout;
#else
  std::fflush(stdout);
  std::FILE* answers = fdopen(dup(STDOUT_FILENO), "w");
  dup2(STDERR_FILENO, STDOUT_FILENO);
  return answers;
#endif
}

// Answers requests on stdin until `shutdown` or its end; the exit status.
template <class Cache, class Container, class Iterator>
int serve(Implementation<Cache, Container, Iterator>& implementation) {
  Server<Cache, Container, Iterator> server(implementation);
  std::FILE* answers = take_stdout();
  std::ios::sync_with_stdio(false);
  std::string line;
  while (!server.done && std::getline(std::cin, line)) {
    const std::string answer = server.answer(line) + "\n";
    if (std::fwrite(answer.data(), 1, answer.size(), answers) != answer.size() || std::fflush(answers)) break;
  }
  return 0;
}

}  // namespace kvconform
