// plan_benchmark [FILE] [EDITS]: how long planning takes. First re-planning after an edit: each edit swaps the axes of
// a parameter's spec, or takes them back, so that no two plans in a row are of the same config. Then, where the model
// has layers, a table of networks from 2 to 1000 layers, and one of meshes from 8 to 16,384 devices, pass by pass.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <vector>

#include "engine/base/number_text.h"
#include "engine/compile/compile.h"
#include "engine/config/parse.h"
#include "engine/machine/host_machine.h"
#include "engine/mesh/mesh.h"

namespace {

using namespace shardscope;

double percentile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

// For each parameter that the file names, the config with that parameter's spec reversed or else emptied; only legal
// ones.
std::vector<RunConfig> edited_configs(const RunConfig& config) {
  std::vector<RunConfig> edits;
  for (size_t i = 0; i < config.sharding.parameters.size(); ++i) {
    RunConfig edit = config;
    PartitionSpec& spec = edit.sharding.parameters[i].spec;
    const PartitionSpec before = spec;
    std::reverse(spec.dims.begin(), spec.dims.end());
    if (spec == before || !validate(edit).empty()) spec.dims.clear();
    if (spec != before && validate(edit).empty()) edits.push_back(edit);
  }
  return edits;
}

void measure_edits(const std::string& path, const RunConfig& config, int edit_count) {
  const std::vector<RunConfig> edits = edited_configs(config);
  if (edits.empty())
    throw Failure({"no_edits", "no parameter's spec can be changed", path, "name parameters in the file"});
  std::vector<double> milliseconds;
  for (int i = 0; i < edit_count; ++i) {
    const RunConfig& next = i % 2 ? config : edits[static_cast<size_t>(i / 2) % edits.size()];
    const auto start = std::chrono::steady_clock::now();
    compile({next, reference_host()});
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    milliseconds.push_back(took.count());
  }
  fmt::print("{}: {} edits, re-planning takes {:.2f} ms (median), {:.2f} ms (95 of 100 take less), {:.2f} ms at most\n",
             path, edit_count, percentile(milliseconds, 0.5), percentile(milliseconds, 0.95),
             percentile(milliseconds, 1));
}

RunConfig with_layers(const RunConfig& config, int64_t count) {
  RunConfig deeper = config;
  for (auto& [name, value] : deeper.model.options) {
    if (name == "num_layers") value = count;
  }
  return deeper;
}

// The fastest of some plans, so that other programs on the machine count least.
Plan fastest_plan(const RunConfig& config) {
  Plan best = compile({config, reference_host()});
  double spent = best.planning_milliseconds;
  for (int i = 0; i < 20 && spent < 3000; ++i) {
    Plan next = compile({config, reference_host()});
    spent += next.planning_milliseconds;
    if (next.planning_milliseconds < best.planning_milliseconds) best = std::move(next);
  }
  return best;
}

void print_row(const std::string& title, const RunConfig& config) {
  for (LayoutMode mode : {LayoutMode::fastest, LayoutMode::as_written}) {
    RunConfig one = config;
    one.sharding.mode = mode;
    const Plan plan = fastest_plan(one);
    fmt::print("{:<26} {:<10} {:>9.2f}", title, mode == LayoutMode::fastest ? "fastest" : "as_written",
               plan.planning_milliseconds);
    for (const PassTime& pass : plan.passes) fmt::print("  {} {:.2f}", pass.name, pass.milliseconds);
    fmt::print("\n");
  }
}

void measure_sizes(const RunConfig& config) {
  fmt::print("\nmilliseconds of a plan, and of its passes, by number of layers\n");
  for (int64_t layers : {2, 12, 100, 1000}) print_row(fmt::format("{} layers", layers), with_layers(config, layers));

  fmt::print("\nand by mesh, 12 layers\n");
  const std::vector<std::vector<int64_t>> meshes{{4, 2},       {8, 8},       {32, 16},           {64, 256},
                                                 {4, 2, 2, 2}, {8, 8, 4, 4}, {4, 4, 4, 4, 8, 8}, {4, 4, 4, 4, 4, 4, 4}};
  for (const std::vector<int64_t>& sizes : meshes) {
    RunConfig wide = with_layers(config, 12);
    wide.mesh_axes = {{"data", sizes[0]}, {"model", sizes[1]}};
    std::string title = fmt::format("{}x{}", sizes[0], sizes[1]);
    int64_t devices = sizes[0] * sizes[1];
    for (size_t axis = 2; axis < sizes.size(); ++axis) {
      wide.mesh_axes.push_back({fmt::format("axis_{}", axis), sizes[axis]});
      title += fmt::format("x{}", sizes[axis]);
      devices *= sizes[axis];
    }
    if (validate(wide).empty()) print_row(fmt::format("{} = {}", title, devices), wide);
  }
}

int parse_count(const char* text) {
  const auto count = number_of<int>(text);
  if (!count || *count < 1) {
    throw Failure({"bad_argument", fmt::format("'{}' is not a number of edits", text), "EDITS", "a number from 1"});
  }
  return *count;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::string path = argc > 1 ? argv[1] : "presets/parallax_decoder.json";
    const RunConfig config = load_run_config(path);
    measure_edits(path, config, argc > 2 ? parse_count(argv[2]) : 200);
    if (config.model.find("num_layers")) measure_sizes(config);
    return 0;
  } catch (const shardscope::Failure& failure) {
    fmt::print(stderr, "{}\n", failure.what());
    return 2;
  }
}
