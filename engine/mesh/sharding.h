#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/reduction.h"
#include "engine/base/shape.h"
#include "engine/mesh/mesh.h"

namespace shardscope {

// The mesh axes that split one dimension, major to minor. A plain value of 8 bytes.
struct AxisList {
  uint8_t count = 0;
  std::array<AxisIndex, 7> axes{};

  const AxisIndex* begin() const { return axes.data(); }
  const AxisIndex* end() const { return axes.data() + count; }
  bool empty() const { return count == 0; }
  AxisIndex back() const { return axes[count - 1]; }
  void push_back(AxisIndex axis) { axes[count++] = axis; }
  void pop_back() { axes[--count] = 0; }
  bool contains(AxisIndex axis) const;
  bool starts_with(const AxisList& prefix) const;
  bool operator==(const AxisList&) const = default;
};

// How one array is laid out on a mesh: for each dimension its axes, and a set of axes (bit a = axis a) over which every
// device holds only its part of an unfinished sum or maximum ("partial"). An axis occurs at most once. A plain value,
// cheap to copy and compare.
//
// Example: mesh data=4, model=2, array (1024, 512), dims [[data],[model]], partial {}: device (d, m) holds rows
// [256 d, 256 d + 256) and columns [256 m, 256 m + 256).
struct Sharding {
  static constexpr int max_rank = Shape::max_rank;

  uint8_t rank = 0;
  uint8_t partial = 0;
  Reduction reduction = Reduction::sum;  // what partial values make; sum where nothing is partial
  std::array<AxisList, max_rank> dims{};

  static Sharding replicated(int rank);
  // All axes that occur, as a bit set; with or without the partial ones.
  uint8_t used_axes() const;
  bool operator==(const Sharding&) const = default;
};

struct Box {
  Shape start, size;
  bool operator==(const Box&) const = default;
};

// Number of shards of dimension `dim`.
int64_t shard_count(const Sharding& sharding, const Mesh& mesh, int dim);
// Number of different parts that the array is in.
int64_t shard_count(const Sharding& sharding, const Mesh& mesh);
// True where every device holds the whole array (partial or not).
bool fully_replicated(const Sharding& sharding, const Mesh& mesh);
// True where every dimension divides.
bool divides(const Sharding& sharding, const Mesh& mesh, const Shape& shape);
Shape local_shape(const Sharding& sharding, const Mesh& mesh, const Shape& shape);
// The part of an array of `shape` that `device` holds.
Box shard_box(const Sharding& sharding, const Mesh& mesh, const Shape& shape, int device);
// Devices that hold the same box as `device`, itself included, ascending.
std::vector<int> replicas(const Sharding& sharding, const Mesh& mesh, const Shape& shape, int device);

// As JAX has it, "P('data', ('model', 'seq'), None, unreduced={'pipe'})"; of a partial maximum "unreduced_max={...}".
std::string to_string(const Sharding& sharding, const Mesh& mesh);

}  // namespace shardscope
