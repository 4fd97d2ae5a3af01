#include <algorithm>
#include <optional>

#include "engine/base/align.h"
#include "engine/base/vector_versions.h"
#include "engine/ops/conv.h"
#include "engine/runtime/kernels/matrix_product.h"
#include "engine/runtime/kernels/named_kernel.h"
#include "engine/runtime/kernels/parallel.h"

namespace shardscope {

namespace {

constexpr auto add_to = vector_versions([](const float* from, int64_t count, float* to) {
  for (int64_t i = 0; i < count; ++i) to[i] += from[i];
});

// Which inputs each output covers: its patch is (window height, window width, channels), row-major, and so a row of the
// window is a run of the picture's row.
class Patches {
 public:
  Patches(const ConvAttributes& attributes, int64_t pictures, int64_t channels)
      : height_(attributes.height), width_(attributes.width), pictures_(pictures), channels_(channels) {}

  int64_t outputs() const { return pictures_ * height_.output * width_.output; }
  int64_t size() const { return height_.window * width_.window * channels_; }
  int64_t picture_elements() const { return pictures_ * height_.input * width_.input * channels_; }

  // Patches of outputs [first, first + count), one behind the other; zeros outside the pictures.
  void gather(const float* pictures, int64_t first, int64_t count, float* patches, int threads) const {
    parallel_for(threads, count, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        for (int64_t y = 0; y < height_.window; ++y) {
          const Run run = run_of(first + i, y);
          float* row = patches + i * size() + y * width_.window * channels_;
          std::fill_n(row, width_.window * channels_, 0.0f);
          std::copy_n(pictures + run.in_pictures, run.length, row + run.in_row);
        }
      }
    });
  }

  // Adds them to the pictures where they were taken from: each thread to rows of its own, in the order of the outputs.
  void scatter(const float* patches, int64_t first, int64_t count, float* pictures, int threads) const {
    const int64_t row_elements = width_.input * channels_;
    parallel_for(threads, pictures_ * height_.input, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = 0; i < count; ++i) {
        for (int64_t y = 0; y < height_.window; ++y) {
          const Run run = run_of(first + i, y);
          if (run.in_pictures < begin * row_elements || run.in_pictures >= end * row_elements) continue;
          add_to(patches + i * size() + y * width_.window * channels_ + run.in_row, run.length,
                 pictures + run.in_pictures);
        }
      }
    });
  }

 private:
  // Of row y of an output's window what is in its picture; empty where nothing does.
  struct Run {
    int64_t in_pictures, in_row, length;
  };

  Run run_of(int64_t output, int64_t y) const {
    const int64_t across = output % width_.output, down = output / width_.output % height_.output;
    const int64_t picture = output / width_.output / height_.output;
    const int64_t row = down * height_.stride - height_.before + y, left = across * width_.stride - width_.before;
    if (row < 0 || row >= height_.input) return {-1, 0, 0};
    const int64_t from = std::max<int64_t>(0, -left), to = std::min(width_.window, width_.input - left);
    if (from >= to) return {-1, 0, 0};
    const int64_t pixel = (picture * height_.input + row) * width_.input + left + from;
    return {pixel * channels_, from * channels_, (to - from) * channels_};
  }

  ConvDimension height_, width_;
  int64_t pictures_, channels_;
};

// Products of blocks of outputs, all of one size but the last.
class BlockProducts {
 public:
  using ShapeOf = MatrixProductShape (*)(int64_t rows, int64_t patch, int64_t features);

  BlockProducts(const KernelArguments& arguments, const Patches& patches, int64_t features, ShapeOf shape_of)
      : outputs_(patches.outputs()), rows_(conv_block_rows(outputs_, patches.size())) {
    const int64_t patch_bytes = round_up(4 * rows_ * patches.size());
    patches_ = static_cast<float*>(arguments.workspace);
    product_workspace_ = static_cast<std::byte*>(arguments.workspace) + patch_bytes;
    const int64_t left = arguments.workspace_bytes - patch_bytes;
    if (outputs_ >= rows_) whole_.emplace(shape_of(rows_, patches.size(), features), arguments.threads, left);
    if (outputs_ % rows_ != 0) {
      rest_.emplace(shape_of(outputs_ % rows_, patches.size(), features), arguments.threads, left);
    }
  }

  // visit(first output, number of outputs, product of so many).
  template <class Visit>
  void for_each_block(Visit visit) {
    for (int64_t first = 0; first < outputs_; first += rows_) {
      const int64_t count = std::min(rows_, outputs_ - first);
      visit(first, count, count == rows_ ? *whole_ : *rest_);
    }
  }

  float* patches() const { return patches_; }
  void* product_workspace() const { return product_workspace_; }

 private:
  int64_t outputs_, rows_;
  float* patches_;
  void* product_workspace_;
  std::optional<MatrixProduct> whole_, rest_;
};

// What the three have in common: of two operands and a result one is the pictures, and one is laid out as the outputs.
class ConvolutionKernel : public Kernel {
 protected:
  ConvolutionKernel(const KernelArguments& arguments, const TensorView& pictures, const TensorView& outputs,
                    BlockProducts::ShapeOf shape_of)
      : patches_(arguments.attributes->as<ConvAttributes>(), pictures.shape[0], pictures.shape[3]),
        features_(outputs.shape[3]),
        threads_(arguments.threads),
        first_(arguments.inputs[0].f32()),
        second_(arguments.inputs[1].f32()),
        result_(arguments.outputs[0].f32()),
        products_(arguments, patches_, features_, shape_of) {}

  Patches patches_;
  int64_t features_;
  int threads_;
  const float *first_, *second_;
  float* result_;
  BlockProducts products_;
};

class ConvKernel : public ConvolutionKernel {
 public:
  explicit ConvKernel(const KernelArguments& arguments)
      : ConvolutionKernel(arguments, arguments.inputs[0], arguments.outputs[0],
                          [](int64_t rows, int64_t patch, int64_t features) {
                            return MatrixProductShape{
                                .m = rows, .n = features, .k = patch, .lda = patch, .ldb = features, .ldc = features};
                          }) {}

  void run(const StepContext&) override {
    products_.for_each_block([&](int64_t first, int64_t count, MatrixProduct& product) {
      patches_.gather(first_, first, count, products_.patches(), threads_);
      product.run(products_.patches(), second_, result_ + first * features_, products_.product_workspace());
    });
  }
};

class ConvGradInputKernel : public ConvolutionKernel {
 public:
  explicit ConvGradInputKernel(const KernelArguments& arguments)
      : ConvolutionKernel(arguments, arguments.outputs[0], arguments.inputs[0],
                          [](int64_t rows, int64_t patch, int64_t features) {
                            return MatrixProductShape{.m = rows,
                                                      .n = patch,
                                                      .k = features,
                                                      .transpose_b = true,
                                                      .lda = features,
                                                      .ldb = features,
                                                      .ldc = patch};
                          }) {}

  void run(const StepContext&) override {
    std::fill_n(result_, patches_.picture_elements(), 0.0f);
    products_.for_each_block([&](int64_t first, int64_t count, MatrixProduct& product) {
      product.run(first_ + first * features_, second_, products_.patches(), products_.product_workspace());
      patches_.scatter(products_.patches(), first, count, result_, threads_);
    });
  }
};

class ConvGradKernelKernel : public ConvolutionKernel {
 public:
  explicit ConvGradKernelKernel(const KernelArguments& arguments)
      : ConvolutionKernel(arguments, arguments.inputs[0], arguments.inputs[1],
                          [](int64_t rows, int64_t patch, int64_t features) {
                            return MatrixProductShape{.m = patch,
                                                      .n = features,
                                                      .k = rows,
                                                      .transpose_a = true,
                                                      .lda = patch,
                                                      .ldb = features,
                                                      .ldc = features,
                                                      .accumulate = true};
                          }) {}

  void run(const StepContext&) override {
    std::fill_n(result_, patches_.size() * features_, 0.0f);
    products_.for_each_block([&](int64_t first, int64_t count, MatrixProduct& product) {
      patches_.gather(first_, first, count, products_.patches(), threads_);
      product.run(products_.patches(), second_ + first * features_, result_, products_.product_workspace());
    });
  }
};

}  // namespace

std::vector<NamedKernel> conv_kernels() {
  return {{"conv", "f32,f32->f32", construct<ConvKernel>},
          {"conv_grad_input", "f32,f32->f32", construct<ConvGradInputKernel>},
          {"conv_grad_kernel", "f32,f32->f32", construct<ConvGradKernelKernel>}};
}

}  // namespace shardscope
