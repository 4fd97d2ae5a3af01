#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>

namespace shardscope {

// Sizes of an array's dimensions, major first (row-major storage); a scalar has an empty shape. Used as a std::vector
// is, but a plain value: plans hold many thousands. Throws Failure (code rank) beyond max_rank dimensions.
class Shape {
 public:
  static constexpr size_t max_rank = 6;
  using value_type = int64_t;
  using iterator = int64_t*;
  using const_iterator = const int64_t*;

  Shape() = default;
  Shape(std::initializer_list<int64_t> sizes) : Shape(sizes.begin(), sizes.end()) {}
  explicit Shape(size_t rank, int64_t size = 0) { resize(rank, size); }
  template <std::forward_iterator Iterator>
  Shape(Iterator first, Iterator last) {
    resize(static_cast<size_t>(std::distance(first, last)));
    std::copy(first, last, begin());
  }

  size_t size() const { return rank_; }
  bool empty() const { return rank_ == 0; }
  int64_t* data() { return sizes_.data(); }
  const int64_t* data() const { return sizes_.data(); }
  iterator begin() { return data(); }
  iterator end() { return data() + rank_; }
  const_iterator begin() const { return data(); }
  const_iterator end() const { return data() + rank_; }
  int64_t& operator[](size_t dim) { return sizes_[dim]; }
  int64_t operator[](size_t dim) const { return sizes_[dim]; }
  int64_t& front() { return sizes_[0]; }
  int64_t front() const { return sizes_[0]; }
  int64_t& back() { return sizes_[rank_ - 1]; }
  int64_t back() const { return sizes_[rank_ - 1]; }

  void push_back(int64_t size) { resize(rank_ + 1, size); }
  void pop_back() { resize(rank_ - 1); }
  void clear() { resize(0); }
  // New dimensions have `size`.
  void resize(size_t rank, int64_t size = 0) {
    if (rank > max_rank) too_many(rank);
    if (rank > rank_) {
      std::fill(begin() + rank_, begin() + rank, size);
    } else {
      std::fill(sizes_.begin() + rank, sizes_.end(), 0);
    }
    rank_ = rank;
  }
  iterator insert(iterator before, int64_t size) {
    push_back(size);
    std::rotate(before, end() - 1, end());
    return before;
  }
  void erase(iterator dim) {
    std::rotate(dim, dim + 1, end());
    pop_back();
  }

  // Sizes behind the rank are zeros. By rank, then by sizes.
  auto operator<=>(const Shape&) const = default;

 private:
  [[noreturn]] static void too_many(size_t rank);

  size_t rank_ = 0;
  std::array<int64_t, max_rank> sizes_{};
};

// f16 and f8 are only planned with: no kernel computes them. f8 stands for any 8-bit float (E4M3, E5M2).
enum class DType : uint8_t { f32, bf16, i32, f16, f8 };

// Product of the sizes; 1 for a scalar.
int64_t element_count(const Shape& shape);

// Bytes of one element.
int64_t byte_size(DType dtype);

std::string_view name(DType dtype);

bool is_float(DType dtype);

// jax.numpy.promote_types: the type in which values of both are computed.
DType promote(DType a, DType b);

// "(1024, 512)", as JAX and NumPy print it; "(512,)" for one dimension, "()" for a scalar.
std::string to_string(const Shape& shape);

struct TensorType {
  Shape shape;
  DType dtype = DType::f32;

  int64_t bytes() const { return element_count(shape) * byte_size(dtype); }
  bool operator==(const TensorType&) const = default;
};

}  // namespace shardscope
