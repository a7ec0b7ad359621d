// The driver of the example: the one class that connects an implementation to the kit. Write yours after this
// file.
#pragma once

#include "iterator.hpp"
#include "storage.hpp"

namespace example {

using kvconform::Observe;
using Look = kvconform::Look<Cache>;
using Request = kvconform::Request<Cache, CacheContainer>;
using IteratorPtr = std::shared_ptr<TokenIterator>;

// Parameters whose own sampler and processor are logged by the kit.
struct LoggedParameters : GenerateParameters {
  explicit LoggedParameters(const Request& request)
      : GenerateParameters(request.parameters), request(request) {}
  SamplerPtr sampler() const override { return request.logged(GenerateParameters::sampler()); }
  ProcessorPtr processor() const override { return request.logged(GenerateParameters::processor()); }
  const Request& request;
};

class Driver : public kvconform::Implementation<Cache, CacheContainer, TokenIterator> {
 public:
  kvconform::Info info() const override {
    kvconform::Info info;
    info.name = "example-cpp";
    info.version = "1.0";
    info.dialect = "proposal";
    info.capabilities.kinds = {"resolve", "quantize", "cache", "container", "iterate"};
    info.capabilities.layers = {"plain", "chunked", "rotating", "quantized", "recurrent", "composite"};
    info.capabilities.features = {"container",    "free-pass",   "resolver", "layer-queries",  "model-list",
                                  "accesses",     "accounting",  "copy",     "convert",        "save-load",
                                  "state",        "head-counts", "prepare",  "logits-prefill", "model-state",
                                  "processors",   "samplers",    "penalty",  "sampler-first",  "prompt-array",
                                  "both-refused", "eager",       "count",    "prefill-time"};
    return info;
  }

  // ---- resolve, quantize

  MaybeInt group_size(Int requested, Int key_dim, Int value_dim) override {
    return resolve_group_size(requested, key_dim, value_dim);
  }
  HeadDims head_dims(const CachePtr& cache) override { return cache->head_dims(); }
  bool is_quantizable(const CachePtr& cache) override { return example::is_quantizable(*cache); }
  bool is_compatible(const CachePtr& cache) override { return example::is_compatible(*cache); }

  kvconform::Packed quantize(const kvconform::Tensor& tensor, Int bits, Int group_size) override {
    const Int rows = tensor.shape[0], dim = tensor.shape[1];
    if (tensor.dtype == "uint32") throw kvconform::Refused("a tensor of uint32 cannot be quantized");
    check_parameters(dim, bits, group_size);
    const Floats values = decode(tensor.bytes, tensor.dtype);
    std::vector<StoredRow> stored;
    for (auto row = values.begin(); row != values.end(); row += dim)
      stored.push_back(quantize_row(Floats(row, row + dim), bits, group_size, tensor.dtype));
    return packed(stored, {rows}, dim, bits, group_size, tensor.dtype);
  }

  // ---- caches

  CachePtr make(const kvconform::Layer& layer, List children) override {
    if (layer.kind == "plain") return std::make_shared<PlainCache>();
    if (layer.kind == "chunked") return std::make_shared<ChunkedCache>(layer.chunk_size);
    if (layer.kind == "rotating") return std::make_shared<RotatingCache>(layer.max_size, layer.keep);
    if (layer.kind == "quantized") return std::make_shared<QuantizedCache>(layer.bits, layer.group_size);
    if (layer.kind == "recurrent") return std::make_shared<RecurrentCache>(layer.slots);
    return std::make_shared<CompositeCache>(children);
  }

  Int append(const CachePtr& cache, const kvconform::Rows& rows) override {
    return cache->append(std::make_shared<WrittenBlock>(rows),
                         {rows.heads, rows.key_dim, rows.value_dim, rows.dtype});
  }

  Int trim(const CachePtr& cache, Int rows) override { return cache->trim(rows); }

  void drop_front(const CachePtr& cache) override {
    const auto chunked = std::dynamic_pointer_cast<ChunkedCache>(cache);
    if (!chunked) throw kvconform::Refused("only a chunked cache can drop its front. KC-3");
    chunked->drop_front();
  }

  void replace_state(const CachePtr& cache, const std::vector<std::vector<float>>& arrays) override {
    dynamic_cast<RecurrentCache&>(*cache).arrays = arrays;
  }

  CachePtr convert(const CachePtr& cache, Int bits, Int group_size) override {
    if (!example::is_quantizable(*cache))
      throw kvconform::Refused("this cache is not quantizable; convert a plain one. QP-1");
    return cache->to_quantized(bits, group_size);
  }

  CachePtr copy(const CachePtr& cache) override { return cache->copy(); }

  kvconform::Exported<Cache> save_and_load(const CachePtr& cache) override {
    return {example::save_and_load(*cache), cache->rows()};
  }
  kvconform::Exported<Cache> state_round_trip(const CachePtr& cache) override {
    return {from_state(state_of(*cache)), cache->rows()};
  }

  // ---- looks

  Look look(const CachePtr& cache, const Observe& observe) override {
    static const char* names[] = {"plain", "chunked", "rotating", "quantized", "recurrent", "composite"};
    Look look;
    look.kind = names[static_cast<int>(cache->kind())];
    look.offset = cache->offset();
    look.rows = cache->rows();
    if (const auto* rows = dynamic_cast<const RowCache*>(cache.get())) look_at_rows(*rows, look, observe);
    if (const auto* quantized = dynamic_cast<const QuantizedCache*>(cache.get())) {
      look.group_size = quantized->group_size;
      look.bits = quantized->bits;
    }
    if (cache->kind() == Kind::chunked)
      look.start_position = dynamic_cast<const RowCache&>(*cache).at.start_position;
    if (const auto* composite = dynamic_cast<const CompositeCache*>(cache.get()))
      look.children = composite->children;
    if (const auto* recurrent = dynamic_cast<const RecurrentCache*>(cache.get());
        recurrent && !recurrent->empty()) {
      look.state.emplace();
      for (const Floats& array : recurrent->arrays) look.state->push_back(static_cast<Int>(array.front()));
    }
    if (observe.accounting) {
      look.nbytes = cache->nbytes();
      look.size = cache->rows();
      look.empty = cache->empty();
      look.trimmable = cache->trimmable();
    }
    return look;
  }

  // ---- the pass

  kvconform::FreePass<Cache> free_pass(const ListPtr& list, MaybeInt bits, Int group_size,
                                       Int start) override {
    return {maybe_quantize(*list, bits, group_size, start)};
  }
  ContainerPtr make_container(const ListPtr& list, const kvconform::Built& built) override {
    return std::make_shared<CacheContainer>(*list, built.bits);
  }
  ContainerPtr make_container(Model& model, const kvconform::Built& built) override {
    return std::make_shared<CacheContainer>(*model.new_cache(), built.bits);
  }
  List layers(const ContainerPtr& container) override { return container->layers(); }
  void container_pass(const ContainerPtr& container, MaybeInt bits, Int group_size, Int start) override {
    container->maybe_quantize(bits, group_size, start);
  }
  Int accesses() override { return Cache::looks; }

  // ---- the iterator

  IteratorPtr make_iterator(Request& request) override {
    TokenIterator::Options options;
    options.list = request.list;
    options.container = request.container;
    options.parameters = std::make_shared<LoggedParameters>(request);
    options.processor = request.processor;
    options.sampler = request.sampler;
    options.on_container = [&](const ContainerPtr& own) { request.works_on(own); };
    if (request.form == "sampler-first")
      return TokenIterator::with_sampler(request.prompt, request.model, options,
                                         request.parameters.prefill_step, request.parameters.max_tokens);
    if (request.form == "prompt-array")
      return TokenIterator::from_prompt_array(request.prompt, request.model, options,
                                              [&](const std::string&) { request.deprecated(); });
    return std::make_shared<TokenIterator>(request.prompt, request.model, options);
  }
  std::optional<Int> next(const IteratorPtr& iterator) override { return iterator->next(); }
  ContainerPtr container_of(const IteratorPtr& iterator) override { return iterator->container(); }
  MaybeInt count(const IteratorPtr& iterator) override { return iterator->count(); }
  std::optional<double> prefill_time(const IteratorPtr& iterator) override {
    return iterator->prefill_time();
  }

 private:
  void look_at_rows(const RowCache& cache, Look& look, const Observe& observe) {
    if (!cache.at.shape) return;
    look.key_dim = cache.at.shape->key_dim;
    look.value_dim = cache.at.shape->value_dim;
    if (!observe.content || !*cache.rows()) return;
    look.keys = content(cache, 0);
    look.values = content(cache, 1);
  }

  Look::Content content(const RowCache& cache, int role) {
    const RowShape& shape = *cache.at.shape;
    const auto rows = cache.fetch().side(role, shape.heads);
    const std::vector<Int> leading = {1, shape.heads, *cache.rows()};
    if (const auto* quantized = dynamic_cast<const QuantizedCache*>(&cache))
      return packed(rows, leading, shape.dim(role), quantized->bits, quantized->group_size, shape.dtype);
    return joined(rows, &StoredRow::data, shape.dtype, leading, shape.dim(role));
  }

  static kvconform::Packed packed(const std::vector<StoredRow>& rows, const std::vector<Int>& leading,
                                  Int dim, Int bits, Int group_size, const std::string& dtype) {
    return {joined(rows, &StoredRow::data, "uint32", leading, dim * bits / 32),
            joined(rows, &StoredRow::scales, dtype, leading, dim / group_size),
            joined(rows, &StoredRow::biases, dtype, leading, dim / group_size)};
  }

  static kvconform::Tensor joined(const std::vector<StoredRow>& rows, Bytes StoredRow::*part,
                                  const std::string& dtype, std::vector<Int> shape, Int last) {
    shape.push_back(last);
    Bytes data;
    for (const StoredRow& row : rows) data.insert(data.end(), (row.*part).begin(), (row.*part).end());
    return {dtype, shape, data};
  }
};

}  // namespace example
