#include <algorithm>
#include <cstring>
#include <memory>

#include "engine/ops/expert_linear.h"
#include "engine/runtime/kernels/attention_head.h"
#include "engine/runtime/kernels/named_kernel.h"
#include "engine/runtime/kernels/parallel.h"
#include "engine/runtime/kernels/serial_product.h"

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

// Rows of an array, of which slot i is row i / share.
struct Rows {
  float* data;
  int64_t width, share;

  float* row(int64_t slot) const { return data + slot / share * width; }
  void gather(const int32_t* slots, int64_t count, float* to) const {
    for (int64_t i = 0; i < count; ++i) std::copy_n(row(slots[i]), width, to + i * width);
  }
};

Rows rows_of(const TensorView& view, int64_t slots) {
  const int64_t width = view.shape.back(), rows = width == 0 ? 0 : view.count() / width;
  return {view.f32(), width, rows == 0 ? 1 : std::max<int64_t>(1, slots / rows)};
}

// What a thread works with.
struct ExpertScratch {
  int32_t* list;
  float *in, *out;
  void* blocks;
  int64_t block_bytes;

  ExpertScratch(const KernelArguments& arguments, int thread, int64_t slots, int64_t in_width, int64_t out_width) {
    WorkspaceCursor cursor(arguments, thread);
    list = reinterpret_cast<int32_t*>(cursor.take(slots));
    in = cursor.take(expert_rows * in_width);
    out = cursor.take(expert_rows * out_width);
    blocks = cursor.rest();
    block_bytes = cursor.left();
  }
};

void multiply(const MatrixProductShape& shape, const float* a, const float* b, float* c, const ExpertScratch& scratch) {
  make_eigen_product(shape, scratch.block_bytes)->run(a, b, c, scratch.blocks);
}

// (x, choices, kernels) -> y.
class ExpertLinearKernel : public Kernel {
 public:
  explicit ExpertLinearKernel(const KernelArguments& arguments)
      : transposed_(arguments.attributes->as<ExpertLinearAttributes>().transposed),
        slots_(arguments.inputs[1], arguments.inputs[2].offset[0], arguments.inputs[2].shape[0]),
        x_(rows_of(arguments.inputs[0], slots_.slots())),
        y_(rows_of(arguments.outputs[0], slots_.slots())),
        kernels_(arguments.inputs[2].f32()),
        threads_(arguments.threads) {
    const int64_t out = arguments.inputs[2].shape[1], in = arguments.inputs[2].shape[2];
    for (int thread = 0; thread < threads_; ++thread) {
      scratch_.emplace_back(arguments, thread, slots_.slots(), transposed_ ? out : in, transposed_ ? in : out);
    }
  }

  void run(const StepContext&) override {
    for (int64_t slot = 0; slot < slots_.slots(); ++slot) {
      if (!slots_.is_held(slot)) std::fill_n(y_.row(slot), y_.width, 0.0f);
    }
    parallel_for(threads_, slots_.experts(), 1, [&](int64_t begin, int64_t end, int thread) {
      for (int64_t expert = begin; expert < end; ++expert) apply(expert, scratch_[static_cast<size_t>(thread)]);
    });
  }

 private:
  void apply(int64_t expert, const ExpertScratch& scratch) const {
    const int64_t count = slots_.find(expert, scratch.list);
    const float* kernel = kernels_ + expert * x_.width * y_.width;
    for (int64_t first = 0; first < count; first += expert_rows) {
      const int64_t rows = std::min(expert_rows, count - first);
      x_.gather(scratch.list + first, rows, scratch.in);
      MatrixProductShape shape{.m = rows, .n = y_.width, .k = x_.width, .transpose_b = !transposed_};
      shape.lda = x_.width;
      shape.ldb = transposed_ ? y_.width : x_.width;
      shape.ldc = y_.width;
      multiply(shape, scratch.in, kernel, scratch.out, scratch);
      for (int64_t i = 0; i < rows; ++i) {
        std::copy_n(scratch.out + i * y_.width, y_.width, y_.row(scratch.list[first + i]));
      }
    }
  }

  bool transposed_;
  SlotLists slots_;
  Rows x_, y_;
  const float* kernels_;
  int threads_;
  std::vector<ExpertScratch> scratch_;
};

// (x, choices, dy) -> d kernels.
class ExpertLinearGradKernel : public Kernel {
 public:
  explicit ExpertLinearGradKernel(const KernelArguments& arguments)
      : slots_(arguments.inputs[1], arguments.outputs[0].offset[0], arguments.outputs[0].shape[0]),
        x_(rows_of(arguments.inputs[0], slots_.slots())),
        dy_(rows_of(arguments.inputs[2], slots_.slots())),
        dkernels_(arguments.outputs[0].f32()),
        threads_(arguments.threads) {
    for (int thread = 0; thread < threads_; ++thread) {
      scratch_.emplace_back(arguments, thread, slots_.slots(), x_.width, dy_.width);
    }
  }

  void run(const StepContext&) override {
    parallel_for(threads_, slots_.experts(), 1, [&](int64_t begin, int64_t end, int thread) {
      for (int64_t expert = begin; expert < end; ++expert) sum(expert, scratch_[static_cast<size_t>(thread)]);
    });
  }

 private:
  void sum(int64_t expert, const ExpertScratch& scratch) const {
    const int64_t count = slots_.find(expert, scratch.list);
    float* to = dkernels_ + expert * x_.width * dy_.width;
    if (count == 0) std::fill_n(to, x_.width * dy_.width, 0.0f);
    for (int64_t first = 0; first < count; first += expert_rows) {
      const int64_t rows = std::min(expert_rows, count - first);
      x_.gather(scratch.list + first, rows, scratch.in);
      dy_.gather(scratch.list + first, rows, scratch.out);
      MatrixProductShape shape{.m = dy_.width, .n = x_.width, .k = rows, .transpose_a = true};
      shape.lda = dy_.width;
      shape.ldb = x_.width;
      shape.ldc = x_.width;
      shape.accumulate = first > 0;
      multiply(shape, scratch.out, scratch.in, to, scratch);
    }
  }

  SlotLists slots_;
  Rows x_, dy_;
  float* dkernels_;
  int threads_;
  std::vector<ExpertScratch> scratch_;
};

}  // namespace

std::vector<NamedKernel> expert_linear_kernels() {
  return {{"expert_linear", "f32,i32,f32->f32", construct<ExpertLinearKernel>},
          {"expert_linear_grad", "f32,i32,f32->f32", construct<ExpertLinearGradKernel>}};
}

}  // namespace shardscope
