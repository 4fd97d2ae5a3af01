#include <algorithm>
#include <cstring>
#include <vector>

#include "engine/ops/dispatch.h"
#include "engine/runtime/kernels/kernel_case.h"
#include "engine/runtime/kernels/named_kernel.h"
#include "engine/runtime/kernels/parallel.h"
#include "engine/runtime/kernels/storage.h"

namespace shardscope {

namespace {

// The blocks of tokens of the part held here, and where their choices go.
class BlocksOfTokens {
 public:
  // `choices` (b, s, k).
  BlocksOfTokens(const TensorView& choices, const DispatchAttributes& attributes)
      : choices_(choices.i32()), attributes_(attributes), length_(choices.shape[1]), k_(choices.shape[2]) {
    batch_ = choices.global_shape[0] / attributes.batch_blocks;
    positions_ = choices.global_shape[1] / attributes.length_blocks;
    blocks_along_batch_ = choices.shape[0] / batch_;
    blocks_ = blocks_along_batch_ * (length_ / positions_);
  }

  int64_t count() const { return blocks_; }
  int64_t k() const { return k_; }
  int64_t tokens() const { return batch_ * positions_; }
  // Of all blocks, token `i` of block q: its place in (b, s).
  int64_t token(int64_t q, int64_t i) const {
    const int64_t along_batch = q % blocks_along_batch_, along_length = q / blocks_along_batch_;
    return (along_batch * batch_ + i / positions_) * length_ + along_length * positions_ + i % positions_;
  }

  // Counts the rows of block q by expert, (p, n) in `counts`, and returns how many found no room.
  int64_t count_rows(int64_t q, int32_t* counts) const {
    const int64_t n = attributes_.block_experts();
    std::vector<int64_t> filled(static_cast<size_t>(attributes_.expert_blocks));
    std::fill_n(counts, attributes_.experts, 0);
    int64_t dropped = 0;
    for (int64_t i = 0; i < tokens(); ++i) {
      const int32_t* chosen = choices_ + token(q, i) * k_;
      for (int64_t j = 0; j < k_; ++j) {
        if (filled[static_cast<size_t>(chosen[j] / n)]++ < attributes_.rows) {
          ++counts[chosen[j]];
        } else {
          ++dropped;
        }
      }
    }
    return dropped;
  }

  // Calls visit(slot, row) for every choice of block q: slot (b, s, k) here, row (p, c) of the block, or -1 where it
  // found no room. In the order of slots.
  template <class Visit>
  void for_each_row(int64_t q, Visit visit) const {
    const int64_t n = attributes_.block_experts(), rows = attributes_.rows;
    std::vector<int32_t> next(static_cast<size_t>(attributes_.experts));
    count_rows(q, next.data());
    for (int64_t p = 0; p < attributes_.expert_blocks; ++p) {
      int32_t first = 0;
      for (int64_t e = p * n; e < (p + 1) * n; ++e) first += std::exchange(next[static_cast<size_t>(e)], first);
    }
    std::vector<int64_t> filled(static_cast<size_t>(attributes_.expert_blocks));
    for (int64_t i = 0; i < tokens(); ++i) {
      const int64_t slot = token(q, i) * k_;
      for (int64_t j = 0; j < k_; ++j) {
        const int64_t expert = choices_[slot + j], p = expert / n;
        const bool fits = filled[static_cast<size_t>(p)]++ < rows;
        visit(slot + j, fits ? p * rows + next[static_cast<size_t>(expert)]++ : -1);
      }
    }
  }

 private:
  const int32_t* choices_;
  DispatchAttributes attributes_;
  int64_t length_, k_, batch_, positions_, blocks_along_batch_, blocks_;
};

// (choices) -> (counts, dropped).
class ExpertCountsKernel : public Kernel {
 public:
  explicit ExpertCountsKernel(const KernelArguments& arguments)
      : blocks_(arguments.inputs[0], arguments.attributes->as<DispatchAttributes>()),
        experts_(arguments.attributes->as<DispatchAttributes>().experts),
        counts_(arguments.outputs[0].i32()),
        dropped_(arguments.outputs[1].f32()) {}

  void run(const StepContext&) override {
    int64_t dropped = 0;
    for (int64_t q = 0; q < blocks_.count(); ++q) dropped += blocks_.count_rows(q, counts_ + q * experts_);
    *dropped_ = static_cast<float>(dropped);
  }

 private:
  BlocksOfTokens blocks_;
  int64_t experts_;
  int32_t* counts_;
  float* dropped_;
};

// (x, choices, counts) -> rows.
template <class T>
class DispatchKernel : public Kernel {
 public:
  explicit DispatchKernel(const KernelArguments& arguments)
      : blocks_(arguments.inputs[1], arguments.attributes->as<DispatchAttributes>()),
        share_(arguments.inputs[0].shape.size() == 3 ? blocks_.k() : 1),
        width_(arguments.outputs[0].shape.back()),
        block_(arguments.outputs[0].shape[1] * arguments.outputs[0].shape[2] * width_),
        x_(arguments.inputs[0].template as<T>()),
        rows_(arguments.outputs[0].template as<T>()),
        threads_(arguments.threads) {}

  void run(const StepContext&) override {
    parallel_for(threads_, blocks_.count(), 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t q = begin; q < end; ++q) {
        T* rows = rows_ + q * block_;
        std::fill_n(rows, block_, T{});
        blocks_.for_each_row(q, [&](int64_t slot, int64_t row) {
          if (row >= 0) std::copy_n(x_ + slot / share_ * width_, width_, rows + row * width_);
        });
      }
    });
  }

 private:
  BlocksOfTokens blocks_;
  int64_t share_, width_, block_;
  const T* x_;
  T* rows_;
  int threads_;
};

// (rows, choices, counts) -> y.
template <class T>
class CombineKernel : public Kernel {
 public:
  explicit CombineKernel(const KernelArguments& arguments)
      : blocks_(arguments.inputs[1], arguments.attributes->as<DispatchAttributes>()),
        summed_(arguments.attributes->as<DispatchAttributes>().summed),
        width_(arguments.inputs[0].shape.back()),
        block_(arguments.inputs[0].shape[1] * arguments.inputs[0].shape[2] * width_),
        rows_(arguments.inputs[0].template as<T>()),
        y_(arguments.outputs[0].template as<T>()),
        threads_(arguments.threads) {}

  void run(const StepContext&) override {
    parallel_for(threads_, blocks_.count(), 1, [&](int64_t begin, int64_t end, int) {
      std::vector<float> sums(static_cast<size_t>(summed_ ? width_ : 0));
      for (int64_t q = begin; q < end; ++q) gather(q, sums.data());
    });
  }

 private:
  void gather(int64_t q, float* sums) const {
    const T* rows = rows_ + q * block_;
    const int64_t k = blocks_.k();
    blocks_.for_each_row(q, [&](int64_t slot, int64_t row) {
      const T* from = row < 0 ? nullptr : rows + row * width_;
      if (summed_) return add(from, slot, k, sums);
      T* y = y_ + slot * width_;
      if (from) std::copy_n(from, width_, y);
      else std::fill_n(y, width_, T{});
    });
  }

  // To the sums of the slot's token; behind its last slot they are whole.
  void add(const T* from, int64_t slot, int64_t k, float* sums) const {
    if (slot % k == 0) std::fill_n(sums, width_, 0.0f);
    if (from) {
      for (int64_t i = 0; i < width_; ++i) sums[i] += load(from[i]);
    }
    if (slot % k != k - 1) return;
    for (int64_t i = 0; i < width_; ++i) store(sums[i], y_[slot / k * width_ + i]);
  }

  BlocksOfTokens blocks_;
  bool summed_;
  int64_t width_, block_;
  const T* rows_;
  T* y_;
  int threads_;
};

}  // namespace

std::vector<NamedKernel> dispatch_kernels() {
  return {{"expert_counts", "i32->i32,f32", construct<ExpertCountsKernel>},
          {"dispatch", "f32,i32,i32->f32", construct<DispatchKernel<float>>},
          {"dispatch", "bf16,i32,i32->bf16", construct<DispatchKernel<BFloat16>>},
          {"combine", "f32,i32,i32->f32", construct<CombineKernel<float>>},
          {"combine", "bf16,i32,i32->bf16", construct<CombineKernel<BFloat16>>}};
}

std::vector<KernelCase> dispatch_kernel_cases(const CaseSizes& sizes) {
  if (sizes.dtype != DType::f32) return {};
  constexpr int64_t k = 2, experts = CaseSizes::experts;
  const DispatchAttributes blocks{.experts = experts, .rows = sizes.rows * k};
  const TensorType counts{{1, 1, experts}, DType::i32}, chosen = sizes.tokens({k});
  return {{"expert_counts", blocks, {chosen}},
          {"dispatch", blocks, {sizes.sequences({CaseSizes::features}), chosen, counts}},
          {"combine", blocks, {{{1, 1, sizes.rows * k, CaseSizes::features}}, chosen, counts}}};
}

}  // namespace shardscope
