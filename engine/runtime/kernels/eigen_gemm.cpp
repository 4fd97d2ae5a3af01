// Compiled for several generations of processors. The build names Eigen's namespace after each of them (-DEigen=...),
// since the linker would else keep just one version of Eigen's functions, for all callers in the program.
#include "engine/runtime/kernels/eigen_gemm.h"

#define EIGEN_NO_MALLOC  // an assertion in every place where Eigen would allocate
#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Core>

namespace shardscope {

namespace {

class Blocking : public Eigen::internal::level3_blocking<float, float> {
 public:
  Blocking(const EigenBlocks& blocks, float* first, float* second) {
    m_blockA = first;
    m_blockB = second;
    m_mc = blocks.rows;
    m_nc = blocks.columns;
    m_kc = blocks.depth;
  }
};

template <int first_order, int second_order>
void multiply(const MatrixProductShape& shape, const EigenBlocks& blocks, const float* a, const float* b, float* c,
              float* first, float* second) {
  Blocking blocking(blocks, first, second);
  Eigen::internal::general_matrix_matrix_product<Eigen::Index, float, first_order, false, float, second_order, false,
                                                 Eigen::ColMajor, 1>::run(shape.n, shape.m, shape.k, b, shape.ldb, a,
                                                                          shape.lda, c, 1, shape.ldc, 1.0f, blocking);
}

}  // namespace

void SHARDSCOPE_EIGEN_GEMM(const MatrixProductShape& shape, const EigenBlocks& blocks, const float* a, const float* b,
                           float* c, float* first, float* second) {
  if (!shape.accumulate) {
    for (int64_t row = 0; row < shape.m; ++row) {
      for (int64_t column = 0; column < shape.n; ++column) c[row * shape.ldc + column] = 0;
    }
  }
  constexpr int by_columns = Eigen::ColMajor, by_rows = Eigen::RowMajor;
  if (shape.transpose_a) {
    (shape.transpose_b ? multiply<by_rows, by_rows> : multiply<by_columns, by_rows>)(shape, blocks, a, b, c, first,
                                                                                     second);
  } else {
    (shape.transpose_b ? multiply<by_rows, by_columns> : multiply<by_columns, by_columns>)(shape, blocks, a, b, c,
                                                                                           first, second);
  }
}

}  // namespace shardscope
