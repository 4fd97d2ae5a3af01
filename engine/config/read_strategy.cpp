#include "engine/config/read_strategy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/config/place.h"
#include "engine/config/read_specs.h"
#include "engine/config/run_document.h"
#include "engine/config/strategy.h"

namespace shardscope {

namespace {

using Kind = JsonNode::Kind;

constexpr const char* root = "strategy";
// Where a document says otherwise what a strategy stands for.
class Contradictions {
 public:
  Contradictions(const JsonNode& document, const RunConfig& expanded, FaultList& faults)
      : document_(document), expanded_(expanded), faults_(faults) {}

  // `said` and `meant` as people read them.
  void report(const std::string& path, const std::string& said, const std::string& meant) {
    std::string by = strategy_place(expanded_, path);
    if (!is_inside(by, root)) by = root;
    const int line = line_of(document_, path), strategy_line = line_of(document_, by);
    const auto at = [](const std::string& place, int number) {
      return number > 0 ? fmt::format("{} (line {})", place, number) : place;
    };
    faults_.fail(line, path, "contradiction",
                 fmt::format("{} contradicts {}, which means {}", said, at(by, strategy_line), meant),
                 "leave it out, or change the strategy");
    faults_.fail(strategy_line, by, "contradiction",
                 fmt::format("means {}, which {} contradicts: {}", meant, at(path, line), said),
                 "change it, or leave the other key out");
  }

 private:
  const JsonNode& document_;
  const RunConfig& expanded_;
  FaultList& faults_;
};

std::string text_of(const std::vector<MeshAxis>& axes) {
  std::string text;
  for (const MeshAxis& axis : axes) text += fmt::format("{}{} {}", text.empty() ? "" : " x ", axis.name, axis.size);
  return text.empty() ? "one device" : text;
}

std::string text_of(const ZeroConfig& zero) {
  return zero.stage == 0 ? "no ZeRO" : fmt::format("stage {} over '{}'", zero.stage, fmt::join(zero.axes, ", "));
}

}  // namespace

RunConfig add_expansion(RunConfig config, const JsonNode& document, FaultList& faults) {
  const RunConfig said = config;
  config.mesh_axes.clear();
  config.sharding.in = {};
  config.sharding.keep.clear();
  config.sharding.zero = {};
  config.pipeline = {};
  config.pipeline.layers = said.pipeline.layers;
  config = expand_strategy(std::move(config));
  Contradictions contradictions(document, config, faults);
  const auto find = [&](const char* section, const char* key) -> const JsonNode* {
    const JsonNode* node = document.find(section);
    return node && node->is(Kind::object) ? node->find(key) : nullptr;
  };
  if (find("mesh", "axes") && said.mesh_axes != config.mesh_axes)
    contradictions.report("mesh.axes", text_of(said.mesh_axes), text_of(config.mesh_axes));
  if (!said.sharding.in.dims.empty() && said.sharding.in != config.sharding.in) {
    contradictions.report("sharding.in", print_json_line(to_node(said.sharding.in)),
                          print_json_line(to_node(config.sharding.in)));
  }
  if (!said.sharding.keep.empty() && said.sharding.keep != config.sharding.keep) {
    contradictions.report("sharding.keep", fmt::format("{}", fmt::join(said.sharding.keep, ", ")),
                          fmt::format("{}", fmt::join(config.sharding.keep, ", ")));
  }
  if (said.sharding.zero != ZeroConfig{} && said.sharding.zero != config.sharding.zero)
    contradictions.report("sharding.zero", text_of(said.sharding.zero), text_of(config.sharding.zero));
  if (find("schedule", "microbatches") && config.strategy->microbatch_size > 0) {
    contradictions.report("schedule.microbatches", print_json_line(JsonNode::of(said.schedule.microbatches)),
                          "as many as the batch has");
  }
  if (find("schedule", "rematerialise") && said.schedule.rematerialise != config.schedule.rematerialise) {
    contradictions.report("schedule.rematerialise", '\'' + said.schedule.rematerialise + '\'',
                          '\'' + config.schedule.rematerialise + '\'');
  }
  const auto compare = [&](const char* key, const auto& one, const auto& other) {
    if (!find("pipeline", key) || one == other) return;
    contradictions.report(member_place("pipeline", key), print_json_line(JsonNode::of(one)),
                          print_json_line(JsonNode::of(other)));
  };
  compare("axis", said.pipeline.axis, config.pipeline.axis);
  compare("schedule", said.pipeline.schedule, config.pipeline.schedule);
  compare("chunks", said.pipeline.chunks, config.pipeline.chunks);
  return config;
}

}  // namespace shardscope
