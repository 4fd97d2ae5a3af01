#include <algorithm>
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
void expert_counts(const KernelArguments& of, const StepContext&) {
  const auto& attributes = of.attributes->as<DispatchAttributes>();
  const BlocksOfTokens blocks(of.inputs[0], attributes);
  int64_t dropped = 0;
  for (int64_t q = 0; q < blocks.count(); ++q)
    dropped += blocks.count_rows(q, of.outputs[0].i32() + q * attributes.experts);
  *of.outputs[1].f32() = static_cast<float>(dropped);
}

// (x, choices, counts) -> rows.
template <class T>
void dispatch(const KernelArguments& of, const StepContext&) {
  const BlocksOfTokens blocks(of.inputs[1], of.attributes->as<DispatchAttributes>());
  const Shape& shape = of.outputs[0].shape;
  const int64_t share = of.inputs[0].shape.size() == 3 ? blocks.k() : 1;
  const int64_t width = shape.back(), block = shape[1] * shape[2] * width;
  const T* x = of.inputs[0].as<T>();
  parallel_for(of.threads, blocks.count(), 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t q = begin; q < end; ++q) {
      T* rows = of.outputs[0].as<T>() + q * block;
      std::fill_n(rows, block, T{});
      blocks.for_each_row(q, [&](int64_t slot, int64_t row) {
        if (row >= 0) std::copy_n(x + slot / share * width, width, rows + row * width);
      });
    }
  });
}

// (rows, choices, counts) -> y.
template <class T>
void combine(const KernelArguments& of, const StepContext&) {
  const auto& attributes = of.attributes->as<DispatchAttributes>();
  const BlocksOfTokens blocks(of.inputs[1], attributes);
  const Shape& shape = of.inputs[0].shape;
  const int64_t width = shape.back(), block = shape[1] * shape[2] * width, k = blocks.k();
  T* all = of.outputs[0].as<T>();
  // To the sums of the slot's token; behind its last slot they are whole.
  const auto add = [&](const T* from, int64_t slot, float* sums) {
    if (slot % k == 0) std::fill_n(sums, width, 0.0f);
    if (from) {
      for (int64_t i = 0; i < width; ++i) sums[i] += load(from[i]);
    }
    if (slot % k != k - 1) return;
    for (int64_t i = 0; i < width; ++i) store(sums[i], all[slot / k * width + i]);
  };
  parallel_for(of.threads, blocks.count(), 1, [&](int64_t begin, int64_t end, int) {
    std::vector<float> sums(static_cast<size_t>(attributes.summed ? width : 0));
    for (int64_t q = begin; q < end; ++q) {
      blocks.for_each_row(q, [&](int64_t slot, int64_t row) {
        const T* from = row < 0 ? nullptr : of.inputs[0].as<T>() + q * block + row * width;
        if (attributes.summed) return add(from, slot, sums.data());
        T* y = all + slot * width;
        if (from) std::copy_n(from, width, y);
        else std::fill_n(y, width, T{});
      });
    }
  });
}

}  // namespace

std::vector<NamedKernel> dispatch_kernels() {
  return {{"expert_counts", "i32->i32,f32", construct_function<expert_counts>},
          {"dispatch", "f32,i32,i32->f32", construct_function<dispatch<float>>},
          {"dispatch", "bf16,i32,i32->bf16", construct_function<dispatch<BFloat16>>},
          {"combine", "f32,i32,i32->f32", construct_function<combine<float>>},
          {"combine", "bf16,i32,i32->bf16", construct_function<combine<BFloat16>>}};
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
