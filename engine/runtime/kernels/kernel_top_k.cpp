#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "engine/ops/top_k.h"
#include "engine/runtime/kernels/kernel_case.h"
#include "engine/runtime/kernels/named_kernel.h"
#include "engine/runtime/kernels/parallel.h"

namespace shardscope {

namespace {

// The scores of a row of logits.
void score_row(const TopKAttributes& attributes, const float* logits, int64_t count, float* scores) {
  if (attributes.score == TopKAttributes::Score::sigmoid) {
    for (int64_t e = 0; e < count; ++e) scores[e] = 1.0f / (1.0f + std::exp(-logits[e]));
    return;
  }
  const float top = *std::max_element(logits, logits + count);
  float sum = 0;
  for (int64_t e = 0; e < count; ++e) sum += scores[e] = std::exp(logits[e] - top);
  for (int64_t e = 0; e < count; ++e) scores[e] /= sum;
}

// The factor of the chosen scores.
float weight_factor(const TopKAttributes& attributes, float sum) {
  const auto scale = static_cast<float>(attributes.scale);
  return attributes.normalise ? scale / (sum + 1e-20f) : scale;
}

// (logits [, bias]) -> (choices, weights).
class TopKKernel : public Kernel {
 public:
  explicit TopKKernel(const KernelArguments& arguments)
      : attributes_(arguments.attributes->as<TopKAttributes>()),
        logits_(arguments.inputs[0].f32()),
        bias_(arguments.inputs.size() > 1 ? arguments.inputs[1].f32() : nullptr),
        choices_(arguments.outputs[0].i32()),
        weights_(arguments.outputs[1].f32()),
        count_(arguments.inputs[0].shape[2]),
        rows_(count_ == 0 ? 0 : arguments.inputs[0].count() / count_),
        threads_(arguments.threads),
        scores_(static_cast<size_t>(threads_ * count_)),
        compared_(scores_.size()),
        order_(scores_.size()) {}

  void run(const StepContext&) override {
    parallel_for(threads_, rows_, 16, [&](int64_t begin, int64_t end, int thread) {
      for (int64_t row = begin; row < end; ++row) choose(row, static_cast<size_t>(thread * count_));
    });
  }

 private:
  void choose(int64_t row, size_t scratch) {
    float *scores = scores_.data() + scratch, *compared = compared_.data() + scratch;
    int32_t* order = order_.data() + scratch;
    score_row(attributes_, logits_ + row * count_, count_, scores);
    for (int64_t e = 0; e < count_; ++e) compared[e] = scores[e] + (bias_ ? bias_[e] : 0.0f);
    const int64_t candidates = attributes_.groups > 1 ? keep_groups(compared, order) : keep_all(order);
    const auto larger = [&](int32_t a, int32_t b) {
      return compared[a] > compared[b] || (compared[a] == compared[b] && a < b);
    };
    const int64_t k = attributes_.k;
    std::partial_sort(order, order + k, order + candidates, larger);
    float sum = 0;
    for (int64_t i = 0; i < k; ++i) sum += scores[order[i]];
    const float factor = weight_factor(attributes_, sum);
    for (int64_t i = 0; i < k; ++i) {
      choices_[row * k + i] = order[i];
      weights_[row * k + i] = scores[order[i]] * factor;
    }
  }

  int64_t keep_all(int32_t* order) const {
    for (int64_t e = 0; e < count_; ++e) order[e] = static_cast<int32_t>(e);
    return count_;
  }

  // The members of the groups whose two largest compared scores have the largest sums.
  int64_t keep_groups(const float* compared, int32_t* order) const {
    const int64_t size = count_ / attributes_.groups;
    std::vector<std::pair<float, int64_t>> groups;
    for (int64_t g = 0; g < attributes_.groups; ++g) {
      std::array<float, 2> top{-INFINITY, -INFINITY};
      for (int64_t e = g * size; e < (g + 1) * size; ++e) {
        if (compared[e] > top[0]) {
          top = {compared[e], top[0]};
        } else if (compared[e] > top[1]) {
          top[1] = compared[e];
        }
      }
      groups.emplace_back(-(size > 1 ? top[0] + top[1] : top[0]), g);
    }
    std::sort(groups.begin(), groups.end());
    int64_t kept = 0;
    for (int64_t i = 0; i < attributes_.chosen_groups; ++i) {
      const int64_t first = groups[static_cast<size_t>(i)].second * size;
      for (int64_t e = first; e < first + size; ++e) order[kept++] = static_cast<int32_t>(e);
    }
    return kept;
  }

  TopKAttributes attributes_;
  const float *logits_, *bias_;
  int32_t* choices_;
  float* weights_;
  int64_t count_, rows_;
  int threads_;
  std::vector<float> scores_, compared_;
  std::vector<int32_t> order_;
};

// (logits, choices, d weights) -> d logits.
class TopKGradKernel : public Kernel {
 public:
  explicit TopKGradKernel(const KernelArguments& arguments)
      : attributes_(arguments.attributes->as<TopKAttributes>()),
        logits_(arguments.inputs[0].f32()),
        choices_(arguments.inputs[1].i32()),
        dweights_(arguments.inputs[2].f32()),
        dlogits_(arguments.outputs[0].f32()),
        count_(arguments.inputs[0].shape[2]),
        rows_(count_ == 0 ? 0 : arguments.inputs[0].count() / count_),
        threads_(arguments.threads),
        scores_(static_cast<size_t>(threads_ * count_)) {}

  void run(const StepContext&) override {
    parallel_for(threads_, rows_, 16, [&](int64_t begin, int64_t end, int thread) {
      for (int64_t row = begin; row < end; ++row) differentiate(row, scores_.data() + thread * count_);
    });
  }

 private:
  void differentiate(int64_t row, float* scores) {
    const int64_t k = attributes_.k;
    const int32_t* choices = choices_ + row * k;
    const float* dweights = dweights_ + row * k;
    float* dlogits = dlogits_ + row * count_;
    score_row(attributes_, logits_ + row * count_, count_, scores);
    float sum = 0, product = 0;
    for (int64_t i = 0; i < k; ++i) {
      sum += scores[choices[i]];
      product += scores[choices[i]] * dweights[i];
    }
    const float factor = weight_factor(attributes_, sum);
    const float mean = attributes_.normalise ? product / (sum + 1e-20f) : 0.0f;
    // d scores of the chosen ones, and their sum with the scores.
    float flow = 0;
    std::fill_n(dlogits, count_, 0.0f);
    for (int64_t i = 0; i < k; ++i) {
      const float dscore = factor * (dweights[i] - mean);
      dlogits[choices[i]] = dscore;
      flow += dscore * scores[choices[i]];
    }
    const bool softmax = attributes_.score == TopKAttributes::Score::softmax;
    for (int64_t e = 0; e < count_; ++e) {
      dlogits[e] = softmax ? scores[e] * (dlogits[e] - flow) : dlogits[e] * scores[e] * (1.0f - scores[e]);
    }
  }

  TopKAttributes attributes_;
  const float* logits_;
  const int32_t* choices_;
  const float* dweights_;
  float* dlogits_;
  int64_t count_, rows_;
  int threads_;
  std::vector<float> scores_;
};

}  // namespace

std::vector<NamedKernel> top_k_kernels() {
  return {{"top_k", "f32->i32,f32", construct<TopKKernel>},
          {"top_k", "f32,f32->i32,f32", construct<TopKKernel>},
          {"top_k_grad", "f32,i32,f32->f32", construct<TopKGradKernel>}};
}

std::vector<KernelCase> top_k_kernel_cases(const CaseSizes& sizes) {
  if (sizes.dtype != DType::f32) return {};
  const TopKAttributes choice{.k = 2};
  const TensorType logits = sizes.sequences({CaseSizes::experts});
  return {{"top_k", choice, {logits}}, {"top_k_grad", choice, {logits, sizes.tokens({2}), sizes.sequences({2})}}};
}

}  // namespace shardscope
