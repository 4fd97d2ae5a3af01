#include "engine/checkpoint/box_cover.h"

#include <array>
#include <cstdint>
#include <random>
#include <span>

#include "engine/base/hash.h"

namespace shardscope {

namespace {

constexpr uint64_t prime = (uint64_t{1} << 61) - 1;

uint64_t product(uint64_t a, uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>(static_cast<Wide>(a) * b % prime);
}

// The sum of the random numbers of a dimension that lie before a coordinate.
uint64_t sum_before(size_t dim, int64_t coordinate) {
  static const std::array<uint64_t, 2> secret = [] {
    std::random_device random;
    const auto draw = [&] { return uint64_t{random()} << 32 | random(); };
    return std::array{draw(), draw()};
  }();
  if (coordinate == 0) return 0;
  const std::array<uint64_t, 4> key{secret[0], secret[1], dim, static_cast<uint64_t>(coordinate)};
  return hash_bytes(std::as_bytes(std::span(key))) % prime;
}

uint64_t weight(const Shape& start, const Shape& size) {
  uint64_t weight = 1;
  for (size_t dim = 0; dim < size.size(); ++dim) {
    const uint64_t before = sum_before(dim, start[dim]), until = sum_before(dim, start[dim] + size[dim]);
    weight = product(weight, (until + prime - before) % prime);
  }
  return weight;
}

}  // namespace

bool covers_once(std::span<const Box* const> boxes, const Shape& shape) {
  uint64_t sum = 0;
  for (const Box* box : boxes) sum = (sum + weight(box->start, box->size)) % prime;
  return sum == weight(Shape(shape.size()), shape);
}

}  // namespace shardscope
