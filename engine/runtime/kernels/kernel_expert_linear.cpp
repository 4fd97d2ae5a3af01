#include "engine/ops/expert_linear.h"
#include "engine/runtime/kernels/expert_products.h"

namespace shardscope {

namespace {

// The slots of one array of choices, expert by expert of those held here.
class SlotLists {
 public:
  // `kernels`: of the experts held here.
  SlotLists(const KernelArguments& arguments, const TensorView& kernels)
      : choices_(arguments.inputs[1].i32()),
        slots_(arguments.inputs[1].count()),
        first_(kernels.offset[0]),
        experts_(kernels.shape[0]) {}

  int64_t experts() const { return experts_; }
  int64_t rows() const { return slots_; }
  // Calls visit(slot, 1) for slots of experts that are elsewhere.
  template <class Visit>
  void for_each_rest(Visit visit) const {
    for (int64_t slot = 0; slot < slots_; ++slot) {
      if (choices_[slot] < first_ || choices_[slot] >= first_ + experts_) visit(slot, 1);
    }
  }
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

}  // namespace

std::vector<NamedKernel> expert_linear_kernels() {
  return expert_kernels<SlotLists, ExpertLinearAttributes>("expert_linear", "expert_linear_grad");
}

}  // namespace shardscope
