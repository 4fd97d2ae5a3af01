#include "engine/mesh/mesh.h"

#include <fmt/format.h>

#include <numeric>

#include "engine/base/plural.h"
#include "engine/base/printable.h"

namespace shardscope {
namespace {

constexpr size_t max_axis_name = 100;

std::vector<Error> axis_errors(const std::vector<MeshAxis>& axes) {
  std::vector<Error> errors;
  if (axes.size() > static_cast<size_t>(Mesh::max_axes)) {
    errors.push_back({"axis_count", fmt::format("the mesh has {} axes", axes.size()), "mesh.axes",
                      fmt::format("at most {} axes", Mesh::max_axes)});
    return errors;
  }
  int64_t devices = 1;
  bool too_many = false;
  for (size_t i = 0; i < axes.size(); ++i) {
    const std::string where = fmt::format("mesh.axes[{}]", i);
    const MeshAxis& axis = axes[i];
    if (axis.name.empty()) errors.push_back({"axis_name", "a mesh axis has no name", where + ".name", "any text"});
    if (axis.name.size() > max_axis_name) {
      errors.push_back({"axis_name", fmt::format("the name of a mesh axis has {} characters", axis.name.size()),
                        where + ".name", fmt::format("at most {}", max_axis_name)});
      continue;
    }
    if (printable(axis.name) != axis.name) {
      errors.push_back({"axis_name", fmt::format("the name '{}' of a mesh axis cannot be shown", axis.name),
                        where + ".name", "letters, digits and signs"});
    }
    for (size_t j = 0; j < i && !axis.name.empty(); ++j) {
      if (axes[j].name != axis.name) continue;
      errors.push_back({"duplicate_axis", fmt::format("two mesh axes are named '{}'", axis.name), where + ".name",
                        fmt::format("axis {} has this name too; names must differ", j)});
      break;
    }
    if (axis.size < 1) {
      errors.push_back({"axis_size", fmt::format("mesh axis '{}' has size {}", axis.name, axis.size), where + ".size",
                        "sizes are 1 or more"});
    } else if (axis.size > Mesh::max_devices / devices) {
      too_many = true;
    } else {
      devices *= axis.size;
    }
  }
  if (too_many) {
    errors.push_back({"device_count", "the mesh has too many devices", "mesh.axes",
                      fmt::format("at most {} devices in all", Mesh::max_devices)});
  }
  return errors;
}

std::vector<Error> device_errors(const std::vector<int>& devices, int count) {
  const std::string hint = count == 1 ? "list device 0" : fmt::format("list each of 0..{} once", count - 1);
  auto fault = [&](std::string message) {
    return std::vector<Error>{{"device_order", std::move(message), "mesh.devices", hint}};
  };
  if (devices.size() != static_cast<size_t>(count)) {
    return fault(
        fmt::format("the device order lists {}, but the mesh has {}", counted(std::ssize(devices), "device"), count));
  }
  std::vector<bool> seen(count);
  for (int device : devices) {
    if (device < 0 || device >= count) return fault(fmt::format("the device order names device {}", device));
    if (seen[device]) return fault(fmt::format("the device order names device {} twice", device));
    seen[device] = true;
  }
  return {};
}

}  // namespace

Mesh::Mesh(std::vector<MeshAxis> axes, std::vector<int> devices)
    : axes_(std::move(axes)), devices_(std::move(devices)) {
  if (std::vector<Error> errors = axis_errors(axes_); !errors.empty()) throw Failure(std::move(errors));
  strides_.resize(axes_.size());
  int64_t count = 1;
  for (size_t i = axes_.size(); i-- > 0;) {
    strides_[i] = count;
    count *= axes_[i].size;
  }
  if (devices_.empty()) {
    devices_.resize(count);
    std::iota(devices_.begin(), devices_.end(), 0);
  }
  if (std::vector<Error> errors = device_errors(devices_, static_cast<int>(count)); !errors.empty()) {
    throw Failure(std::move(errors));
  }
  positions_.resize(count);
  for (int position = 0; position < count; ++position) positions_[devices_[position]] = position;
}

std::optional<AxisIndex> Mesh::find_axis(const std::string& name) const {
  for (size_t i = 0; i < axes_.size(); ++i) {
    if (axes_[i].name == name) return static_cast<AxisIndex>(i);
  }
  return std::nullopt;
}

int64_t Mesh::coordinate(int device, AxisIndex axis) const {
  return positions_.at(device) / strides_[axis] % axes_[axis].size;
}

std::vector<int64_t> Mesh::coordinates(int device) const {
  std::vector<int64_t> result(axes_.size());
  for (size_t i = 0; i < axes_.size(); ++i) result[i] = coordinate(device, static_cast<AxisIndex>(i));
  return result;
}

int64_t Mesh::group_index(int device, const std::vector<AxisIndex>& group_axes) const {
  int64_t index = 0;
  for (AxisIndex axis : group_axes) index = index * axes_[axis].size + coordinate(device, axis);
  return index;
}

std::vector<int> Mesh::group(int device, const std::vector<AxisIndex>& group_axes) const {
  int64_t origin = positions_.at(device);
  size_t count = 1;
  for (AxisIndex axis : group_axes) {
    origin -= coordinate(device, axis) * strides_[axis];
    count *= static_cast<size_t>(axes_[axis].size);
  }
  std::vector<int> members;
  members.reserve(count);
  members.push_back(static_cast<int>(origin));
  // Positions along the axes so far, from the last axis on: those of the next are these, shifted.
  for (size_t i = group_axes.size(); i-- > 0;) {
    const AxisIndex axis = group_axes[i];
    const size_t known = members.size();
    for (int64_t step = 1; step < axes_[axis].size; ++step) {
      for (size_t m = 0; m < known; ++m) members.push_back(members[m] + static_cast<int>(step * strides_[axis]));
    }
  }
  for (int& member : members) member = devices_[static_cast<size_t>(member)];
  return members;
}

}  // namespace shardscope
