#include <cstring>

#include "engine/ops/split.h"
#include "engine/runtime/kernels/kernel_case.h"
#include "engine/runtime/kernels/named_kernel.h"
#include "engine/runtime/kernels/parallel.h"

namespace shardscope {

namespace {

// Between an array and its parts along a dimension: for each index before it, a run of bytes of each part.
template <bool splitting>
class PartsKernel : public Kernel {
 public:
  explicit PartsKernel(const KernelArguments& arguments)
      : whole_(static_cast<std::byte*>((splitting ? arguments.inputs : arguments.outputs)[0].data)),
        threads_(arguments.threads) {
    const std::vector<TensorView>& parts = splitting ? arguments.outputs : arguments.inputs;
    const auto at = static_cast<size_t>(arguments.attributes->as<SplitAttributes>().dimension);
    for (const TensorView& part : parts) {
      int64_t bytes = static_cast<int64_t>(byte_size(part.dtype));
      for (size_t d = at; d < part.shape.size(); ++d) bytes *= part.shape[d];
      parts_.push_back({static_cast<std::byte*>(part.data), row_, bytes});
      row_ += bytes;
    }
    for (size_t d = 0; d < at; ++d) rows_ *= parts[0].shape[d];
  }

  void run(const StepContext&) override {
    if (rows_ == 1) {
      for (const Part& part : parts_) {
        parallel_for(threads_, part.bytes, 4096,
                     [&](int64_t begin, int64_t end, int) { move(part, 0, begin, end - begin); });
      }
      return;
    }
    parallel_for(threads_, rows_, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) {
        for (const Part& part : parts_) move(part, row, 0, part.bytes);
      }
    });
  }

 private:
  struct Part {
    std::byte* data;
    int64_t start, bytes;  // in a row of the whole
  };

  void move(const Part& part, int64_t row, int64_t from, int64_t bytes) const {
    std::byte* in_part = part.data + row * part.bytes + from;
    std::byte* in_whole = whole_ + row * row_ + part.start + from;
    std::memcpy(splitting ? in_part : in_whole, splitting ? in_whole : in_part, static_cast<size_t>(bytes));
  }

  std::byte* whole_;
  int threads_;
  std::vector<Part> parts_;
  int64_t row_ = 0, rows_ = 1;
};

}  // namespace

std::vector<NamedKernel> split_kernels() {
  constexpr auto split = construct<PartsKernel<true>>, concatenate = construct<PartsKernel<false>>;
  return {{"split", "f32->f32", split},
          {"split", "f32->f32,f32", split},
          {"split", "f32->f32,f32,f32", split},
          {"split", "f32->f32,f32,f32,f32", split},
          {"split", "bf16->bf16", split},
          {"split", "bf16->bf16,bf16", split},
          {"split", "bf16->bf16,bf16,bf16", split},
          {"split", "bf16->bf16,bf16,bf16,bf16", split},
          {"concatenate", "f32...->f32", concatenate},
          {"concatenate", "bf16...->bf16", concatenate}};
}

std::vector<KernelCase> split_kernel_cases(const CaseSizes& sizes) {
  const TensorType x = sizes.x();
  constexpr int64_t part = CaseSizes::features / 2;
  return {{"split", SplitAttributes{1, {part, part}}, {x}},
          {"concatenate", SplitAttributes{0, {sizes.rows, sizes.rows}}, {x, x}}};
}

}  // namespace shardscope
