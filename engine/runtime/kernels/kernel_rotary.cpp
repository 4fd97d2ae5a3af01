#include "engine/base/vector_versions.h"
#include "engine/ops/rotary.h"
#include "engine/runtime/kernels/kernel_case.h"
#include "engine/runtime/kernels/named_kernel.h"
#include "engine/runtime/kernels/parallel.h"
#include "engine/runtime/kernels/rotary_table.h"
#include "engine/runtime/kernels/storage.h"

namespace shardscope {

namespace {

// Pair i of `pairs` of a head: elements (i stride, i stride + distance).
constexpr auto turn_pairs =
    vector_versions([]<class T>(const T* from, const float* cosines, const float* sines, float sign, int64_t pairs,
                                int64_t stride, int64_t distance, T* to) {
#pragma omp simd
      for (int64_t i = 0; i < pairs; ++i) {
        const float a = load(from[i * stride]), b = load(from[i * stride + distance]);
        const float cosine = cosines[i], sine = sign * sines[i];
        store(a * cosine - b * sine, to[i * stride]);
        store(b * cosine + a * sine, to[i * stride + distance]);
      }
    });

template <class T>
class RotaryKernel : public Kernel {
 public:
  explicit RotaryKernel(const KernelArguments& arguments)
      : from_(arguments.inputs[0].template as<T>()),
        to_(arguments.outputs[0].template as<T>()),
        threads_(arguments.threads) {
    const RotaryAttributes& attributes = arguments.attributes->as<RotaryAttributes>();
    const TensorView& x = arguments.inputs[0];
    batch_ = x.shape[0];
    positions_ = x.shape[1];
    heads_ = x.shape[2];
    head_size_ = x.shape[3];
    pairs_ = static_cast<int64_t>(attributes.frequencies.size());
    stride_ = attributes.interleaved ? 2 : 1;
    distance_ = attributes.interleaved ? 1 : pairs_;
    sign_ = attributes.backward ? -1.0f : 1.0f;
    table_ = rotary_table(attributes.frequencies, attributes.magnitude, x.offset[1], positions_,
                          {attributes.blocks, x.global_shape[1]});
  }

  void run(const StepContext&) override {
    parallel_for(threads_, batch_ * positions_, 4, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t angle = row % positions_ * pairs_;
        for (int64_t head = row * heads_; head < (row + 1) * heads_; ++head) turn(head * head_size_, angle);
      }
    });
  }

 private:
  void turn(int64_t at, int64_t angle) const {
    turn_pairs(from_ + at, table_->cosines.data() + angle, table_->sines.data() + angle, sign_, pairs_, stride_,
               distance_, to_ + at);
    for (int64_t d = 2 * pairs_; from_ != to_ && d < head_size_; ++d) to_[at + d] = from_[at + d];
  }

  const T* from_;
  T* to_;
  int threads_;
  int64_t batch_, positions_, heads_, head_size_, pairs_, stride_, distance_;
  float sign_;
  std::shared_ptr<const RotaryTable> table_;
};

}  // namespace

std::vector<NamedKernel> rotary_kernels() {
  return {{"rotary", "f32->f32", construct<RotaryKernel<float>>},
          {"rotary", "bf16->bf16", construct<RotaryKernel<BFloat16>>}};
}

std::vector<KernelCase> rotary_kernel_cases(const CaseSizes& sizes) {
  // Half of each head is turned.
  const std::vector<float> frequencies(static_cast<size_t>(CaseSizes::head_size / 2), 0.5f);
  return {{"rotary",
           RotaryAttributes{frequencies, 1, false, false},
           {sizes.sequences({CaseSizes::heads, CaseSizes::head_size})}}};
}

}  // namespace shardscope
