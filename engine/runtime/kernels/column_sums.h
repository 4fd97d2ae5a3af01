#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/base/vector_versions.h"
#include "engine/ops/workspace.h"
#include "engine/runtime/kernels/parallel.h"

namespace shardscope {

// Sums over rows are made in blocks of this many rows in float, and over blocks in double.
inline constexpr int64_t rows_per_block = 64;
// A block has at most this many columns.
inline constexpr int64_t columns_per_block = 512;

// `sums` sums over the rows of every column of a matrix, for instance those of dy xhat and of dy. Threads share the
// matrix by chunks of whole rows (column_sum_chunks): a thread that reads half of each row reads at a third of the
// rate. The totals of chunks lie in the workspace, [chunk][sum][column], and are added in order: the cut depends on the
// number of rows alone, so results do not depend on the number of threads.
//
//   ColumnSums<2> sums(rows, columns, arguments);
//   sums.run([&](int64_t first, int64_t last, int64_t column, int64_t width, auto& part) {  // a block
//     part[0][c] += ..., part[1][c] += ...;  for c < width: column `column + c` of rows [first, last)
//   }, [&](int sum, int64_t column, float total) { ... });
template <int sums>
class ColumnSums {
 public:
  using Block = float[sums][columns_per_block];

  // `workspace` has column_sums_workspace_bytes(rows, columns, sums) bytes.
  ColumnSums(int64_t rows, int64_t columns, int threads, void* workspace)
      : rows_(rows), columns_(columns), threads_(threads), totals_(static_cast<double*>(workspace)) {}

  template <class AddBlock, class Store>
  void run(AddBlock&& add_block, Store&& store) const {
    const int64_t chunks = column_sum_chunks(rows_), tiles = (columns_ + columns_per_block - 1) / columns_per_block;
    parallel_for(threads_, chunks * tiles, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) sum_chunk(i / tiles, i % tiles * columns_per_block, add_block);
    });
    parallel_for(threads_, columns_, 64, [&](int64_t begin, int64_t end, int) {
      for (int sum = 0; sum < sums; ++sum) {
        for (int64_t c = begin; c < end; ++c) {
          double total = 0;
          for (int64_t chunk = 0; chunk < chunks; ++chunk) total += totals_[(chunk * sums + sum) * columns_ + c];
          store(sum, c, static_cast<float>(total));
        }
      }
    });
  }

 private:
  template <class AddBlock>
  void sum_chunk(int64_t chunk, int64_t column, AddBlock& add_block) const {
    const int64_t width = std::min(columns_per_block, columns_ - column), share = rows_of_chunk();
    const int64_t end = std::min(rows_, (chunk + 1) * share);
    double* totals = totals_ + chunk * sums * columns_ + column;
    for (int sum = 0; sum < sums; ++sum) std::fill_n(totals + sum * columns_, width, 0.0);
    Block part;
    for (int64_t first = chunk * share; first < end; first += rows_per_block) {
      for (int sum = 0; sum < sums; ++sum) std::fill_n(part[sum], width, 0.0f);
      add_block(first, std::min(end, first + rows_per_block), column, width, part);
      for (int sum = 0; sum < sums; ++sum) add(part[sum], width, totals + sum * columns_);
    }
  }

  int64_t rows_of_chunk() const {
    const int64_t blocks = (rows_ + rows_per_block - 1) / rows_per_block, chunks = column_sum_chunks(rows_);
    return (blocks + chunks - 1) / chunks * rows_per_block;
  }

  static constexpr auto add = vector_versions([](const float* part, int64_t width, double* totals) {
#pragma omp simd
    for (int64_t c = 0; c < width; ++c) totals[c] += part[c];
  });

  int64_t rows_, columns_;
  int threads_;
  double* totals_;
};

}  // namespace shardscope
