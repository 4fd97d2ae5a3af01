#include "engine/export/jax_shardings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>

#include "engine/export/jax_source.h"

namespace shardscope {

namespace {

constexpr std::string_view sharding_functions = R"py(
def constrain(x, spec):
    return jax.lax.with_sharding_constraint(x, NamedSharding(mesh, spec))


def name_of(keys):
    """"params/Dense_0/kernel" of a parameter, "optimizer/KEPT/params/Dense_0/kernel" of its optimizer state."""
    path = jax.tree_util.keystr(keys, simple=True, separator="/")
    found = re.search(r"(?:(ALTERNATIVES)/)?(params/.*)", path)
    if not found:
        return path
    kept, name = found.groups()
    return f"optimizer/{OPTIMIZER_STATE[kept]}/{name}" if kept else name


def shardings(tree, collection=""):
    """NamedShardings of a tree by paths; what SPECS does not name is sharded as its parameter is, or is replicated."""

    def place(keys, leaf):
        name = name_of(keys)
        parameter = name[name.find("params/") :]
        return NamedSharding(mesh, SPECS.get(collection + name, SPECS.get(parameter, P())))

    return jax.tree_util.tree_map_with_path(place, tree)


def write_specs(file, *trees):
    """How the arrays of trees lie, as JSON {path: spec}; `shardrun plan RUN_FILE --specs FILE` reads it."""
    entries = {}
    for tree in trees:
        for keys, leaf in jax.tree_util.tree_leaves_with_path(tree):
            if leaf.shape:
                spec = leaf.sharding.spec
                entries[name_of(keys)] = [list(entry) if isinstance(entry, tuple) else entry for entry in spec]
    with open(file, "w") as output:
        lines = [f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in entries.items()]
        output.write("{\n" + ",\n".join(lines) + "\n}\n")
)py";

std::string mesh_lines(const Mesh& mesh) {
  std::vector<int64_t> sizes;
  std::vector<std::string> names;
  for (const MeshAxis& axis : mesh.axes()) {
    sizes.push_back(axis.size);
    names.push_back(python_text(axis.name));
  }
  std::vector<int> in_order(static_cast<size_t>(mesh.device_count()));
  std::iota(in_order.begin(), in_order.end(), 0);
  const std::string devices = mesh.devices() == in_order
                                  ? fmt::format("jax.devices()[:{}]", mesh.device_count())
                                  : fmt::format("[jax.devices()[i] for i in ({},)]", fmt::join(mesh.devices(), ", "));
  return fmt::format("mesh = Mesh(numpy.array({}).reshape({}), ({},))\n", devices, fmt::join(sizes, ", "),
                     fmt::join(names, ", "));
}

std::string entry_line(const std::string& name, const PartitionSpec& spec) {
  return fmt::format("    {}: {},\n", python_text(name), python_spec(spec));
}

}  // namespace

JaxShardings jax_shardings(const JaxArrays& arrays, const std::vector<std::pair<std::string, std::string>>& kept) {
  JaxShardings result;
  std::string specs, inputs;
  for (const JaxArray& array : arrays.arrays) {
    const SpecKind kind = array.target.kind;
    const bool follows = kind == SpecKind::optimizer_state || kind == SpecKind::gradient;
    if (kind == SpecKind::input) inputs += entry_line(array.name, array.resolved.spec);
    if (kind == SpecKind::parameter) specs += entry_line(array.name, array.resolved.spec);
    if (!follows || array.target.follows < 0 || (kind == SpecKind::gradient && !array.resolved.pinned)) continue;
    if (array.resolved.spec == arrays.arrays[static_cast<size_t>(array.target.follows)].resolved.spec) continue;
    specs += entry_line(array.name, array.resolved.spec);
    result.has_gradients |= kind == SpecKind::gradient;
  }
  std::vector<std::string> names, states;
  for (const auto& [optax, ours] : kept) {
    names.push_back(optax);
    states.push_back(fmt::format("{}: {}", python_text(optax), python_text(ours)));
  }
  std::string text = jax_lines(sharding_functions, {});
  replace(text, "ALTERNATIVES", fmt::format("{}", fmt::join(names, "|")));
  replace(text, "KEPT", kept.empty() ? "state" : kept.front().second);
  result.source = mesh_lines(arrays.mesh.whole) +
                  fmt::format(
                      "\n# How every parameter is sharded. What the optimizer keeps of it is sharded alike, unless it "
                      "is named itself.\nSPECS = {{\n{}}}\nINPUTS = {{\n{}}}\n"
                      "# What the optimizer keeps of each parameter, by the names of Optax and of the run file.\n"
                      "OPTIMIZER_STATE = {{{}}}\n\n\n",
                      specs, inputs, fmt::join(states, ", ")) +
                  text;
  return result;
}

}  // namespace shardscope
