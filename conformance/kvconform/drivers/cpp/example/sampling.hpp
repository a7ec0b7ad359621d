// Generation parameters, and the sampler and processor that they give (PS).
#pragma once

#include <deque>
#include <set>

#include "../kvconform.hpp"

namespace example {

using kvconform::Int;
using kvconform::Tokens;
using SamplerPtr = std::shared_ptr<kvconform::Sampler>;
using ProcessorPtr = std::shared_ptr<kvconform::Processor>;

// The lowest index of the highest logit (PS-2).
class ArgmaxSampler : public kvconform::Sampler {
 public:
  Int sample(const std::vector<float>& logits) override {
    return std::max_element(logits.begin(), logits.end()) - logits.begin();
  }
};

// Makes the latest tokens less likely (PS-3).
class RepetitionPenalty : public kvconform::Processor {
 public:
  RepetitionPenalty(float penalty, Int context)
      : penalty_(penalty), context_(static_cast<std::size_t>(context)) {}

  void prompt(const Tokens& tokens) override {
    latest_.assign(tokens.begin(), tokens.end());
    while (latest_.size() > context_) latest_.pop_front();
  }

  std::vector<float> process(std::vector<float> logits) override {
    for (const Int token : std::set<Int>(latest_.begin(), latest_.end())) {
      float& logit = logits[static_cast<std::size_t>(token)];
      logit = logit > 0 ? logit / penalty_ : logit * penalty_;
    }
    return logits;
  }

  void did_sample(Int token) override {
    latest_.push_back(token);
    if (latest_.size() > context_) latest_.pop_front();
  }

 private:
  float penalty_;
  std::size_t context_;
  std::deque<Int> latest_;
};

struct GenerateParameters : kvconform::Parameters {
  GenerateParameters() = default;
  explicit GenerateParameters(const kvconform::Parameters& parameters) : kvconform::Parameters(parameters) {}
  virtual ~GenerateParameters() = default;
  virtual SamplerPtr sampler() const { return std::make_shared<ArgmaxSampler>(); }
  virtual ProcessorPtr processor() const {
    if (!repetition_penalty) return nullptr;
    return std::make_shared<RepetitionPenalty>(static_cast<float>(*repetition_penalty),
                                               repetition_context_size);
  }
};

}  // namespace example
