// plan_benchmark [FILE] [EDITS]: how long re-planning takes after an edit. Each edit swaps the axes of a parameter's
// spec, or takes them back, so that no two plans in a row are of the same config.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <vector>

#include "engine/compile/compile.h"
#include "engine/config/parse.h"
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

void measure(const std::string& path, int edit_count) {
  const RunConfig config = load_run_config(path);
  const std::vector<RunConfig> edits = edited_configs(config);
  if (edits.empty())
    throw Failure({"no_edits", "no parameter's spec can be changed", path, "name parameters in the file"});
  std::vector<double> milliseconds;
  for (int i = 0; i < edit_count; ++i) {
    const RunConfig& next = i % 2 ? config : edits[static_cast<size_t>(i / 2) % edits.size()];
    const auto start = std::chrono::steady_clock::now();
    compile(next, DeviceProfile{});
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    milliseconds.push_back(took.count());
  }
  fmt::print("{}: {} edits, re-planning takes {:.2f} ms (median), {:.2f} ms (95 of 100 take less), {:.2f} ms at most\n",
             path, edit_count, percentile(milliseconds, 0.5), percentile(milliseconds, 0.95),
             percentile(milliseconds, 1));
}

int parse_count(const char* text) {
  int count = 0;
  const auto [end, error] = std::from_chars(text, text + std::strlen(text), count);
  if (error != std::errc{} || *end || count < 1) {
    throw Failure({"bad_argument", fmt::format("'{}' is not a number of edits", text), "EDITS", "a number from 1"});
  }
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    measure(argc > 1 ? argv[1] : "presets/parallax_decoder.json", argc > 2 ? parse_count(argv[2]) : 200);
    return 0;
  } catch (const shardscope::Failure& failure) {
    fmt::print(stderr, "{}\n", failure.what());
    return 2;
  }
}
