#include "engine/export/jax_specs_file.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "engine/base/path.h"
#include "engine/compile/pins.h"
#include "engine/config/place.h"
#include "engine/config/read_specs.h"
#include "engine/export/jax_arrays.h"

namespace shardscope {

namespace {

struct GivenSpec {
  PartitionSpec spec;
  std::string path;  // in the file
  int line = 0;
};

using GivenSpecs = std::unordered_map<std::string, GivenSpec>;  // by array

// `pipeline_axis` splits no array; empty: there is none.
GivenSpecs read_specs(std::string_view text, const std::string& file_name, const JaxArrays& arrays,
                      const std::string& pipeline_axis, std::vector<Error>& errors) {
  const JsonNode document = read_json(text, file_name);
  FaultList faults(file_name, errors);
  GivenSpecs given;
  if (!faults.expect(document, "", JsonNode::Kind::object, "an object of {path: spec}")) return given;
  faults.check_repeated_keys(document, "");
  std::unordered_map<std::string, const JaxArray*> by_name;
  std::vector<std::string> names;
  for (const JaxArray& array : arrays.arrays) {
    if (array.target.kind == SpecKind::gradient) continue;
    by_name.emplace(array.name, &array);
    by_name.emplace(array.value_name, &array);
    names.push_back(array.name);
  }
  for (size_t i = 0; i < document.keys.size(); ++i) {
    const std::string& name = document.keys[i];
    const int line = document.items[i].line;
    const std::string path = member_place("", name);
    const auto array = by_name.find(name);
    if (array == by_name.end()) {
      faults.fail(line, path, "unknown_array", "the run has no array '" + name + "'", name_hint(name, names));
      continue;
    }
    const size_t before = faults.count();
    GivenSpec read{read_spec(document.items[i], path, faults), path, line};
    if (faults.count() > before) continue;
    const auto is_cut = [&](const std::vector<std::string>& axes) {
      return !pipeline_axis.empty() && std::ranges::find(axes, pipeline_axis) != axes.end();
    };
    if (std::ranges::any_of(read.spec.dims, is_cut)) {
      faults.fail(line, path, "pipeline", "'" + pipeline_axis + "' is the axis of the pipeline and splits no array",
                  "another axis of the mesh");
      continue;
    }
    for (Error& error : check(read.spec, arrays.mesh.whole, array->second->target.type.shape, path)) {
      faults.fail(line, error.place.path, error.code, error.message, error.hint);
    }
    given.emplace(array->second->name, std::move(read));
  }
  return given;
}

bool is_sharded_so(const JaxArray& array, const PartitionSpec& spec, const Mesh& mesh) {
  const int rank = static_cast<int>(array.target.type.shape.size());
  const bool open = array.target.kind == SpecKind::activation && !array.resolved.pinned;
  const auto split = [&](const PartitionSpec& of) { return without_unit_axes(to_sharding(of, mesh, rank), mesh); };
  return !open && split(spec) == split(array.resolved.spec);
}

void put_rule(ShardingConfig& sharding, size_t at, const JaxArray& array, const PartitionSpec& spec) {
  sharding.rules.insert(sharding.rules.begin() + static_cast<std::ptrdiff_t>(at),
                        SpecRule{array.name, spec, {array.target.kind}});
}

void put_constraint(ShardingConfig& sharding, const std::string& name, const PartitionSpec& spec) {
  const auto named = std::ranges::find(sharding.constraints, name, &Constraint::names);
  if (named == sharding.constraints.end()) sharding.constraints.push_back({name, spec});
  else named->spec = spec;
}

// Inputs, or outputs: `all`, the spec of them all, where one says it; else a rule for each.
void put_ends(ShardingConfig& sharding, PartitionSpec ShardingConfig::*all, const std::vector<const JaxArray*>& arrays,
              const GivenSpecs& given, const Mesh& mesh) {
  std::vector<PartitionSpec> specs;
  bool changes = false;
  for (const JaxArray* array : arrays) {
    const auto found = given.find(array->name);
    specs.push_back(found == given.end() ? array->resolved.spec : found->second.spec);
    changes |= !is_sharded_so(*array, specs.back(), mesh);
  }
  if (!changes) return;
  const bool alike = std::ranges::all_of(specs, [&](const PartitionSpec& spec) { return spec == specs[0]; });
  sharding.*all = alike ? specs[0] : PartitionSpec{};
  if (alike && !specs[0].dims.empty()) return;
  for (size_t i = 0; i < arrays.size(); ++i) put_rule(sharding, i, *arrays[i], specs[i]);
}

// What does not lie so yet, of some kinds.
void put(RunConfig& config, const JaxArrays& arrays, const GivenSpecs& given, bool optimizer_state) {
  ShardingConfig& sharding = config.sharding;
  size_t rules = 0;
  for (const JaxArray& array : arrays.arrays) {
    const auto found = given.find(array.name);
    if (found == given.end() || is_sharded_so(array, found->second.spec, arrays.mesh.whole)) continue;
    const PartitionSpec& spec = found->second.spec;
    const SpecKind kind = array.target.kind;
    if (optimizer_state && kind == SpecKind::optimizer_state) put_rule(sharding, rules++, array, spec);
    if (optimizer_state) continue;
    if (kind == SpecKind::parameter || kind == SpecKind::state) {
      set_parameter_spec(sharding, split_path(array.name), spec);
    } else if (kind == SpecKind::activation) {
      put_constraint(sharding, array.name, spec);
    }
  }
  if (optimizer_state) return;
  put_ends(sharding, &ShardingConfig::in, arrays.of(SpecKind::input), given, arrays.mesh.whole);
  put_ends(sharding, &ShardingConfig::out, arrays.of(SpecKind::output), given, arrays.mesh.whole);
}

}  // namespace

RunConfig with_specs(const RunConfig& config, std::string_view text, const std::string& file_name) {
  JaxArrays arrays = jax_arrays(config);
  std::vector<Error> errors;
  const GivenSpecs given = read_specs(text, file_name, arrays, config.pipeline.axis, errors);
  if (!errors.empty()) throw Failure(std::move(errors));

  RunConfig result = config;
  put(result, arrays, given, false);
  arrays.resolve(result);
  put(result, arrays, given, true);  // that which does not lie as its parameter
  arrays.resolve(result);
  FaultList faults(file_name, errors);
  for (const JaxArray& array : arrays.arrays) {
    const auto found = given.find(array.name);
    if (found == given.end() || is_sharded_so(array, found->second.spec, arrays.mesh.whole)) continue;
    faults.fail(found->second.line, found->second.path, "overruled",
                "'" + array.name + "' is sharded as " + to_string(array.resolved.spec) + " all the same",
                "by " + (array.resolved.origin.empty() ? std::string("sharding.zero") : array.resolved.origin));
  }
  if (!errors.empty()) throw Failure(std::move(errors));
  return result;
}

}  // namespace shardscope
