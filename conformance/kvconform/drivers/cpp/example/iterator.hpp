// The token iterator: feeds a prompt through a model and hands out one token after the other (IT, PR, ST,
// NX).
#pragma once

#include <chrono>

#include "container.hpp"
#include "sampling.hpp"

namespace example {

using Model = kvconform::ScriptedModel<Cache>;

// Where warnings of deprecated forms go.
using Warn = std::function<void(const std::string&)>;

class TokenIterator {
 public:
  struct Options {
    std::shared_ptr<List> list;  // at most one of these two; none: the model is asked
    ContainerPtr container;
    std::shared_ptr<const GenerateParameters> parameters = std::make_shared<GenerateParameters>();
    ProcessorPtr processor;  // null: that of the parameters
    SamplerPtr sampler;      // null: that of the parameters
    std::function<void(const ContainerPtr&)> on_container = [](const ContainerPtr&) {};  // before the prefill
  };

  // The general form. The prefill runs here (IT-1).
  TokenIterator(const Tokens& prompt, Model& model, const Options& options)
      : model_(model), parameters_(options.parameters) {
    check(options);
    processor_ = options.processor ? options.processor : parameters_->processor();  // IT-4
    sampler_ = options.sampler ? options.sampler : parameters_->sampler();
    container_ = options.container;
    if (!container_) {  // IT-2, CT-9
      const auto list = options.list ? options.list : model.new_cache();
      container_ = std::make_shared<CacheContainer>(*list, parameters_->bits);
    }
    options.on_container(container_);
    const auto began = std::chrono::steady_clock::now();
    pending_ = prepare(prompt);
    prefill_time_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  }

  // The sampler-first form: an explicit sampler, no parameters but these two; it never quantizes (IT-5).
  static std::shared_ptr<TokenIterator> with_sampler(const Tokens& prompt, Model& model, Options options,
                                                     Int prefill_step, MaybeInt max_tokens) {
    auto parameters = std::make_shared<GenerateParameters>();
    parameters->prefill_step = prefill_step;
    parameters->max_tokens = max_tokens;
    options.parameters = parameters;
    return std::make_shared<TokenIterator>(prompt, model, options);
  }

  // The deprecated form over a bare prompt array (IT-6).
  static std::shared_ptr<TokenIterator> from_prompt_array(const Tokens& prompt, Model& model,
                                                          const Options& options, const Warn& warn) {
    warn("from_prompt_array is deprecated; construct a TokenIterator with the same arguments");
    return std::make_shared<TokenIterator>(prompt, model, options);
  }

  // The next token; none for ever once the limit is reached (NX-1).
  std::optional<Int> next() {
    if (limit_reached()) return std::nullopt;
    const Int token = pending_;
    pending_ = step({token});  // NX-2: one token ahead
    ++count_;
    return token;
  }

  const ContainerPtr& container() const { return container_; }
  Int count() const { return count_; }
  double prefill_time() const { return prefill_time_; }

 private:
  static void check(const Options& options) {  // before the model is touched
    if (options.list && options.container)
      throw std::invalid_argument("a cache list and a container are both given; give one");
    if (options.parameters->prefill_step < 1) throw std::invalid_argument("the prefill step is below 1");
    if (options.parameters->bits) check_bits(*options.parameters->bits);
  }

  Int prepare(const Tokens& prompt) {
    if (processor_) processor_->prompt(prompt);                                                   // PR-1
    const auto answer = model_.prepare(prompt, container_->layers(), parameters_->prefill_step);  // PR-2
    if (answer.result)
      return sample(answer.result->logits);  // PR-4 `bare`: no call, no pass, its state is dropped
    if (answer.tokens.empty())
      throw std::invalid_argument("the prefill left no tokens and no logits to sample from");  // PR-5
    return step(answer.tokens);
  }

  Int step(const Tokens& tokens) {
    const List layers = container_->layers();
    const auto result = model_({tokens}, layers.empty() ? nullptr : &layers, state_);            // ST-3
    state_ = result.state;                                                                       // ST-4
    container_->maybe_quantize(parameters_->bits, parameters_->group_size, parameters_->start);  // ST-1, IT-3
    return sample(result.logits);
  }

  Int sample(const kvconform::Logits& logits) {
    std::vector<float> last = logits.row(logits.rows() - 1);  // ST-5
    if (processor_) last = processor_->process(std::move(last));
    const Int token = sampler_->sample(last);
    if (processor_) processor_->did_sample(token);  // PS-1
    return token;
  }

  bool limit_reached() const {
    const MaybeInt limit = parameters_->max_tokens;
    if (!limit) return false;
    return planted("limit-off-by-one") ? count_ > *limit : count_ >= *limit;
  }

  Model& model_;
  std::shared_ptr<const GenerateParameters> parameters_;
  ProcessorPtr processor_;
  SamplerPtr sampler_;
  ContainerPtr container_;
  MaybeInt state_;
  Int pending_ = 0, count_ = 0;
  double prefill_time_ = 0;
};

}  // namespace example
