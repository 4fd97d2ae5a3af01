#include <algorithm>
#include <cstring>

#include "engine/ops/expert_linear.h"
#include "engine/runtime/kernels/expert_products.h"
#include "engine/runtime/kernels/named_kernel.h"
#include "engine/runtime/kernels/parallel.h"

namespace shardscope {

namespace {

// The slots of one array of choices, expert by expert of those held here.
class SlotLists {
 public:
  SlotLists(const TensorView& choices, int64_t first, int64_t experts)
      : choices_(choices.i32()), slots_(choices.count()), first_(first), experts_(experts) {}

  int64_t experts() const { return experts_; }
  int64_t slots() const { return slots_; }
  bool is_held(int64_t slot) const { return choices_[slot] >= first_ && choices_[slot] < first_ + experts_; }
  // Writes the slots of an expert to `list`, ascending, and returns how many there are.
  int64_t find(int64_t expert, int32_t* list) const {
    int64_t count = 0;
    for (int64_t slot = 0; slot < slots_; ++slot) {
      if (choices_[slot] == first_ + expert) list[count++] = static_cast<int32_t>(slot);
    }
    return count;
  }

 private:
  const int32_t* choices_;
  int64_t slots_, first_, experts_;
};

// (x, choices, kernels) -> y.
class ExpertLinearKernel : public Kernel {
 public:
  explicit ExpertLinearKernel(const KernelArguments& arguments)
      : transposed_(arguments.attributes->as<ExpertLinearAttributes>().transposed),
        slots_(arguments.inputs[1], arguments.inputs[2].offset[0], arguments.inputs[2].shape[0]),
        x_(arguments.inputs[0], slots_.slots()),
        y_(arguments.outputs[0], slots_.slots()),
        kernels_(arguments.inputs[2]),
        products_(arguments, slots_.slots(), kernels_.in, kernels_.out) {}

  void run(const StepContext&) override {
    for (int64_t slot = 0; slot < slots_.slots(); ++slot) {
      if (!slots_.is_held(slot)) std::memset(y_.row(slot), 0, static_cast<size_t>(y_.bytes));
    }
    products_.for_each_expert(slots_, [&](int64_t expert, int64_t count, const ExpertProducts& products) {
      products.multiply(count, x_, kernels_.at(expert), transposed_, y_);
    });
  }

 private:
  bool transposed_;
  SlotLists slots_;
  SharedRows x_, y_;
  ExpertKernels kernels_;
  ThreadProducts products_;
};

// (x, choices, dy) -> d kernels.
class ExpertLinearGradKernel : public Kernel {
 public:
  explicit ExpertLinearGradKernel(const KernelArguments& arguments)
      : slots_(arguments.inputs[1], arguments.outputs[0].offset[0], arguments.outputs[0].shape[0]),
        x_(arguments.inputs[0], slots_.slots()),
        dy_(arguments.inputs[2], slots_.slots()),
        dkernels_(arguments.outputs[0]),
        products_(arguments, slots_.slots(), dkernels_.in, dkernels_.out) {}

  void run(const StepContext&) override {
    products_.for_each_expert(slots_, [&](int64_t expert, int64_t count, const ExpertProducts& products) {
      products.sum(count, x_, dy_, dkernels_.at(expert));
    });
  }

 private:
  SlotLists slots_;
  SharedRows x_, dy_;
  ExpertKernels dkernels_;
  ThreadProducts products_;
};

}  // namespace

std::vector<NamedKernel> expert_linear_kernels() {
  constexpr auto product = construct<ExpertLinearKernel>, gradient = construct<ExpertLinearGradKernel>;
  return {
      {"expert_linear", "f32,i32,f32->f32", product},          {"expert_linear", "bf16,i32,bf16->bf16", product},
      {"expert_linear", "bf16,i32,bf16->f32", product},        {"expert_linear_grad", "f32,i32,f32->f32", gradient},
      {"expert_linear_grad", "bf16,i32,bf16->bf16", gradient}, {"expert_linear_grad", "bf16,i32,bf16->f32", gradient}};
}

}  // namespace shardscope
