#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/error.h"

namespace shardscope {

// Position of an axis in Mesh::axes.
using AxisIndex = uint8_t;

struct MeshAxis {
  std::string name;
  int64_t size = 1;
  bool operator==(const MeshAxis&) const = default;
};

// A grid of devices with named axes, as jax.sharding.Mesh. `devices[p]` is the device at position p of the
// row-major grid; it is a permutation of 0..n-1. Device d is run by rank d.
class Mesh {
 public:
  static constexpr int max_axes = 7;
  static constexpr int64_t max_devices = 65536;

  Mesh() : Mesh(std::vector<MeshAxis>{}) {}
  // Throws Failure with every fault found: an axis of size < 1, a repeated or empty name, too many axes or devices,
  // a device order that is not a permutation. The errors' places are mesh.axes[i].name, mesh.axes[i].size, mesh.axes
  // and mesh.devices. An empty `devices` means 0..n-1.
  explicit Mesh(std::vector<MeshAxis> axes, std::vector<int> devices = {});

  const std::vector<MeshAxis>& axes() const { return axes_; }
  const std::vector<int>& devices() const { return devices_; }
  int device_count() const { return static_cast<int>(devices_.size()); }
  int axis_count() const { return static_cast<int>(axes_.size()); }
  int64_t axis_size(AxisIndex axis) const { return axes_[axis].size; }
  std::optional<AxisIndex> find_axis(const std::string& name) const;

  // Coordinates of a device along every axis, in the order of axes(); or along one of them.
  std::vector<int64_t> coordinates(int device) const;
  int64_t coordinate(int device, AxisIndex axis) const;
  // Index of a device inside its group over `group_axes` (row-major in the order given, major first), and
  // the devices of that group in that order.
  int64_t group_index(int device, const std::vector<AxisIndex>& group_axes) const;
  std::vector<int> group(int device, const std::vector<AxisIndex>& group_axes) const;

  bool operator==(const Mesh&) const = default;

 private:
  std::vector<MeshAxis> axes_;
  std::vector<int> devices_;
  std::vector<int> positions_;    // of each device in devices_
  std::vector<int64_t> strides_;  // of each axis in devices_
};

}  // namespace shardscope
