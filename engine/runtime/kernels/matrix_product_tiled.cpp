#include <algorithm>
#include <array>
#include <map>

#include "engine/ops/workspace.h"
#include "engine/runtime/kernels/serial_product.h"
#include "engine/runtime/kernels/storage.h"

namespace shardscope {

namespace {

constexpr int64_t whole_lines(int64_t count) { return (count + 31) / 32 * 32; }

void copy(const BFloat16* from, BFloat16* to, int64_t count) { std::copy_n(from, count, to); }
void copy(const BFloat16* from, float* to, int64_t count) { convert(from, to, count); }

template <class T>
void copy_rows(const BFloat16* from, int64_t stride, int64_t rows, int64_t columns, T* to) {
  for (int64_t row = 0; row < rows; ++row) copy(from + row * stride, to + row * columns, columns);
}

// Tile of the result by tile; for each, slices of k are copied as T, multiplied and summed in f32.
template <class T>
class TiledProduct : public SerialProduct {
 public:
  TiledProduct(const MatrixProductShape& shape, int64_t workspace_bytes)
      : shape_(shape),
        a_count_(whole_lines(std::min(shape.m, product_tile_rows) * std::min(shape.k, product_tile_depth))),
        b_count_(whole_lines(std::min(shape.k, product_tile_depth) * std::min(shape.n, product_tile_columns))),
        c_count_(whole_lines(std::min(shape.m, product_tile_rows) * std::min(shape.n, product_tile_columns))) {
    const int64_t left = workspace_bytes - tile_bytes();
    if (left < 0) throw_too_small(shape, workspace_bytes);
    for_each_tile([&](const Tile& tile) {
      std::unique_ptr<SerialProduct>& product = products_[{tile.m, tile.n, tile.k}];
      if (product) return;
      const MatrixProductShape dense = tile_shape(tile);
      const bool widened = dtype_of<T> == DType::f32;
      product = widened ? make_serial_product(dense, matrix_product_method(dense), false, left)
                        : make_onednn_product(dense, false, left);
      inner_bytes_ = std::max(inner_bytes_, product->needed_bytes());
    });
  }

  void run(const void* a, const void* b, void* c, void* workspace) override {
    const BFloat16 *left = static_cast<const BFloat16*>(a), *right = static_cast<const BFloat16*>(b);
    T* a_tile = static_cast<T*>(workspace);
    T* b_tile = a_tile + a_count_;
    float* c_tile = reinterpret_cast<float*>(b_tile + b_count_);
    for_each_tile([&](const Tile& tile) {
      if (tile.first_k == 0) start(tile, c, c_tile);
      if (shape_.transpose_a) {
        copy_rows(left + tile.first_k * shape_.lda + tile.first_m, shape_.lda, tile.k, tile.m, a_tile);
      } else {
        copy_rows(left + tile.first_m * shape_.lda + tile.first_k, shape_.lda, tile.m, tile.k, a_tile);
      }
      if (shape_.transpose_b) {
        copy_rows(right + tile.first_n * shape_.ldb + tile.first_k, shape_.ldb, tile.n, tile.k, b_tile);
      } else {
        copy_rows(right + tile.first_k * shape_.ldb + tile.first_n, shape_.ldb, tile.k, tile.n, b_tile);
      }
      products_.at({tile.m, tile.n, tile.k})->run(a_tile, b_tile, c_tile, c_tile + c_count_);
      if (tile.first_k + tile.k == shape_.k) finish(tile, c_tile, c);
    });
  }

  int64_t needed_bytes() const override { return tile_bytes() + inner_bytes_; }

 private:
  struct Tile {
    int64_t first_m, first_n, first_k, m, n, k;
  };

  template <class Visit>
  void for_each_tile(Visit visit) const {
    for (int64_t m = 0; m < shape_.m; m += product_tile_rows) {
      for (int64_t n = 0; n < shape_.n; n += product_tile_columns) {
        for (int64_t k = 0; k < shape_.k; k += product_tile_depth) {
          visit(Tile{m, n, k, std::min(product_tile_rows, shape_.m - m), std::min(product_tile_columns, shape_.n - n),
                     std::min(product_tile_depth, shape_.k - k)});
        }
      }
    }
  }

  MatrixProductShape tile_shape(const Tile& tile) const {
    return {.m = tile.m,
            .n = tile.n,
            .k = tile.k,
            .transpose_a = shape_.transpose_a,
            .transpose_b = shape_.transpose_b,
            .lda = shape_.transpose_a ? tile.m : tile.k,
            .ldb = shape_.transpose_b ? tile.k : tile.n,
            .ldc = tile.n,
            .accumulate = true,
            .operands = dtype_of<T>};
  }

  int64_t tile_bytes() const {
    return (a_count_ + b_count_) * byte_size(dtype_of<T>) + c_count_ * byte_size(DType::f32);
  }

  // What the products are added to.
  void start(const Tile& tile, const void* c, float* c_tile) const {
    const int64_t first = tile.first_m * shape_.ldc + tile.first_n;
    for (int64_t row = 0; row < tile.m; ++row) {
      const int64_t at = first + row * shape_.ldc;
      if (!shape_.accumulate) {
        std::fill_n(c_tile + row * tile.n, tile.n, 0.0f);
      } else {
        std::copy_n(static_cast<const float*>(c) + at, tile.n, c_tile + row * tile.n);
      }
    }
  }

  void finish(const Tile& tile, const float* c_tile, void* c) const {
    const int64_t first = tile.first_m * shape_.ldc + tile.first_n;
    for (int64_t row = 0; row < tile.m; ++row) {
      const int64_t at = first + row * shape_.ldc;
      if (shape_.result == DType::bf16) {
        convert(c_tile + row * tile.n, static_cast<BFloat16*>(c) + at, tile.n);
      } else {
        std::copy_n(c_tile + row * tile.n, tile.n, static_cast<float*>(c) + at);
      }
    }
  }

  MatrixProductShape shape_;
  int64_t a_count_, b_count_, c_count_;  // elements of the tiles, whole lines
  int64_t inner_bytes_ = 0;
  std::map<std::array<int64_t, 3>, std::unique_ptr<SerialProduct>> products_;  // by m, n, k of the tile
};

}  // namespace

std::unique_ptr<SerialProduct> make_tiled_product(const MatrixProductShape& shape, bool widened,
                                                  int64_t workspace_bytes) {
  if (widened) return std::make_unique<TiledProduct<float>>(shape, workspace_bytes);
  return std::make_unique<TiledProduct<BFloat16>>(shape, workspace_bytes);
}

}  // namespace shardscope
