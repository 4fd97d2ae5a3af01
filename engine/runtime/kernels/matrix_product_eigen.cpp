#include <algorithm>

#include "engine/base/instruction_set.h"
#include "engine/runtime/kernels/eigen_gemm.h"
#include "engine/runtime/kernels/serial_product.h"

namespace shardscope {

namespace {

// Blocks that suit the caches: the first operand's in L2, a few columns of the second in L1.
constexpr EigenBlocks largest{.rows = 192, .columns = 480, .depth = 256};
constexpr int64_t floats_per_line = 16;

int64_t bytes(int64_t floats) {
  return (floats + floats_per_line - 1) / floats_per_line * floats_per_line * static_cast<int64_t>(sizeof(float));
}

int64_t bytes(const EigenBlocks& blocks) { return bytes(blocks.first_count()) + bytes(blocks.second_count()); }

EigenGemm* best_gemm() {
#if defined(__x86_64__)
  if (used_instruction_set() >= InstructionSet::v4) return eigen_gemm_v4;
  if (used_instruction_set() >= InstructionSet::v3) return eigen_gemm_v3;
#endif
  return eigen_gemm_baseline;
}

class EigenProduct : public SerialProduct {
 public:
  EigenProduct(const MatrixProductShape& shape, int64_t workspace_bytes)
      : shape_(shape),
        blocks_{std::min(shape.n, largest.rows), std::min(shape.m, largest.columns), std::min(shape.k, largest.depth)} {
    while (bytes(blocks_) > workspace_bytes) {
      int64_t* longest = &blocks_.columns;
      for (int64_t* size : {&blocks_.rows, &blocks_.depth}) longest = *size > *longest ? size : longest;
      if (*longest == 1) throw_too_small(shape, workspace_bytes);
      *longest = (*longest + 1) / 2;
    }
  }

  void run(const void* a, const void* b, void* c, void* workspace) override {
    static EigenGemm* const gemm = best_gemm();
    float* first = static_cast<float*>(workspace);
    gemm(shape_, blocks_, static_cast<const float*>(a), static_cast<const float*>(b), static_cast<float*>(c), first,
         first + bytes(blocks_.first_count()) / static_cast<int64_t>(sizeof(float)));
  }

  int64_t needed_bytes() const override { return bytes(blocks_); }

 private:
  MatrixProductShape shape_;
  EigenBlocks blocks_;
};

}  // namespace

std::unique_ptr<SerialProduct> make_eigen_product(const MatrixProductShape& shape, int64_t workspace_bytes) {
  return std::make_unique<EigenProduct>(shape, workspace_bytes);
}

}  // namespace shardscope
