#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "engine/mesh/partition_spec.h"

#include "engine/base/plural.h"

namespace shardscope {
namespace {

struct Occurrence {
  size_t dim, index;
};

std::string place(const std::string& where, size_t dim) { return fmt::format("{}[{}]", where, dim); }

std::string joined(const std::vector<std::string>& items, const std::string& last_separator) {
  std::string text;
  for (size_t i = 0; i < items.size(); ++i) {
    if (i) text += i + 1 == items.size() ? last_separator : ", ";
    text += items[i];
  }
  return text;
}

std::vector<Error> duplicate_errors(const PartitionSpec& spec, const std::string& where) {
  std::map<std::string, std::vector<Occurrence>> occurrences;
  for (size_t dim = 0; dim < spec.dims.size(); ++dim) {
    for (size_t index = 0; index < spec.dims[dim].size(); ++index) {
      occurrences[spec.dims[dim][index]].push_back({dim, index});
    }
  }
  std::vector<Error> errors;
  for (const auto& [name, list] : occurrences) {
    if (list.size() < 2) continue;
    std::vector<std::string> places;
    PartitionSpec once = spec;
    for (size_t i = list.size(); i-- > 1;) {
      std::vector<std::string>& axes = once.dims[list[i].dim];
      axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(list[i].index));
    }
    for (const Occurrence& one : list) {
      places.push_back(spec.dims[one.dim].size() == 1 ? fmt::format("[{}]", one.dim)
                                                      : fmt::format("[{}][{}]", one.dim, one.index));
    }
    errors.push_back({"duplicate_axis",
                      fmt::format("axis '{}' is named {} times in {}", name, list.size(), to_string(spec)),
                      place(where, list[1].dim),
                      fmt::format("an axis may occur once in a spec; '{}' is at {}; for example {}", name,
                                  joined(places, " and "), to_string(once))});
  }
  return errors;
}

std::vector<Error> unknown_errors(const PartitionSpec& spec, const Mesh& mesh, const std::string& where,
                                  const std::vector<LogicalName>& logical) {
  std::vector<Error> errors;
  for (size_t dim = 0; dim < spec.dims.size(); ++dim) {
    for (const std::string& name : spec.dims[dim]) {
      if (mesh.find_axis(name)) continue;
      errors.push_back({"unknown_axis", fmt::format("the mesh has no axis '{}'", name), place(where, dim),
                        unknown_axis_hint(name, mesh, logical)});
    }
  }
  return errors;
}

std::vector<Error> rank_errors(const PartitionSpec& spec, const Shape& shape, const std::string& where) {
  if (spec.dims.size() > shape.size()) {
    return {{"rank",
             fmt::format("the spec has {}, but the array {} has {}", counted(spec.dims.size(), "entry", "entries"),
                         to_string(shape), counted(shape.size(), "dimension", "dimensions")),
             where,
             shape.empty() ? "a scalar takes an empty spec, []"
                           : "at most " + counted(shape.size(), "entry", "entries") + ", one for each dimension"}};
  }
  return {};
}

// Axes of the mesh that are not used by other dimensions of the spec and divide `size`.
std::vector<std::string> dividing_axes(const PartitionSpec& spec, const Mesh& mesh, size_t dim, int64_t size) {
  std::vector<std::string> result;
  for (const MeshAxis& axis : mesh.axes()) {
    if (axis.size == 1 || size % axis.size != 0) continue;
    bool taken = false;
    for (size_t other = 0; other < spec.dims.size(); ++other) {
      const std::vector<std::string>& axes = spec.dims[other];
      taken |= other != dim && std::find(axes.begin(), axes.end(), axis.name) != axes.end();
    }
    if (!taken) result.push_back(fmt::format("'{}' ({})", axis.name, axis.size));
  }
  return result;
}

std::vector<Error> divisibility_errors(const PartitionSpec& spec, const Mesh& mesh, const Shape& shape,
                                       const std::string& where) {
  std::vector<Error> errors;
  for (size_t dim = 0; dim < spec.dims.size(); ++dim) {
    const std::vector<std::string>& axes = spec.dims[dim];
    int64_t count = 1;
    std::string by;
    for (const std::string& name : axes) {
      const int64_t size = mesh.axis_size(*mesh.find_axis(name));
      count *= size;
      if (!by.empty()) by += " x ";
      by += axes.size() == 1 ? fmt::format("'{}'", name) : fmt::format("'{}' ({})", name, size);
    }
    const int64_t size = shape[dim];
    if (size % count == 0) continue;
    const int64_t below = size / count * count;
    const std::string sizes =
        below > 0 ? fmt::format("sizes {} and {}", below, below + count) : fmt::format("size {}", below + count);
    const std::vector<std::string> others = dividing_axes(spec, mesh, dim, size);
    const std::string legal = others.empty() ? fmt::format("no free axis of the mesh divides {}", size)
                                             : fmt::format("{} is divided by {}", size, joined(others, " and by "));
    const std::string message =
        fmt::format("dimension {} of {} is split {} ways by {}", dim, to_string(shape), count, by);
    errors.push_back({"indivisible", message, place(where, dim), fmt::format("nearest legal {}; {}", sizes, legal)});
  }
  return errors;
}

std::vector<Error> name_errors(const PartitionSpec& spec, const Mesh& mesh, const std::string& where,
                               const std::vector<LogicalName>& logical) {
  std::vector<Error> errors = duplicate_errors(spec, where);
  return errors.empty() ? unknown_errors(spec, mesh, where, logical) : errors;
}

// What NamedSharding(mesh, spec) raises in JAX 0.10: of duplicates all, of unknown axes the first.
std::string words_of_jax(const PartitionSpec& spec, const Mesh& mesh, bool duplicate) {
  const std::string text = "P" + to_string(spec).substr(std::string("PartitionSpec").size());
  std::map<std::string, int> counts;
  std::string repeated, unknown;
  for (const std::vector<std::string>& axes : spec.dims) {
    for (const std::string& name : axes) {
      ++counts[name];
      if (unknown.empty() && !mesh.find_axis(name)) unknown = name;
    }
  }
  for (const auto& [name, count] : counts) {
    if (count > 1) repeated += fmt::format("{}`{}`", repeated.empty() ? "" : ", ", name);
  }
  if (duplicate) {
    return fmt::format(
        "A single NamedSharding spec specification can map every mesh axis to at most one positional dimension, but {} "
        "has duplicate entries for {}",
        text, repeated);
  }
  std::string names;
  for (const MeshAxis& axis : mesh.axes()) names += fmt::format("{}'{}'", names.empty() ? "" : ", ", axis.name);
  return fmt::format("Resource axis: {} of {} is not found in mesh: ({}{}).", unknown, text, names,
                     mesh.axis_count() == 1 ? "," : "");
}

}  // namespace

std::vector<Error> check_names(const PartitionSpec& spec, const Mesh& mesh, const std::string& where,
                               const std::vector<LogicalName>& logical) {
  std::vector<Error> errors = name_errors(spec, mesh, where, logical);
  if (errors.empty()) return errors;
  const std::string words = words_of_jax(spec, mesh, errors.front().code == "duplicate_axis");
  for (Error& error : errors) error.hint += (error.hint.ends_with('?') ? " JAX says: " : "; JAX says: ") + words;
  return errors;
}

std::vector<Error> check_axes(const std::vector<std::string>& axes, const Mesh& mesh, const std::string& where,
                              const std::vector<LogicalName>& logical) {
  std::vector<Error> errors = name_errors({{axes}}, mesh, where, logical);
  for (Error& error : errors) error.place = where;
  return errors;
}

std::vector<Error> check(const PartitionSpec& spec, const Mesh& mesh, const Shape& shape, const std::string& where) {
  std::vector<Error> errors = check_names(spec, mesh, where);
  if (errors.empty()) errors = rank_errors(spec, shape, where);
  if (errors.empty()) errors = divisibility_errors(spec, mesh, shape, where);
  return errors;
}

}  // namespace shardscope
