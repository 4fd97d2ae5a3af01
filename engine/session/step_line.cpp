#include "engine/session/step_line.h"

#include <nlohmann/json.hpp>

namespace shardscope {

namespace {

// What a rank says may have bytes in it that are no text: paths, mostly.
std::string line_of(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace

std::string json_line(const StepMessage& step) {
  nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
  for (const RankMeasurement& measured : step.ranks) {
    nlohmann::ordered_json rank;
    for_each_field(measured, [&](const char* name, const auto& value) { rank[name] = value; });
    ranks.push_back(std::move(rank));
  }
  nlohmann::ordered_json json = {{"step", step.step}};
  for (const auto& [name, value] : step.metrics) {
    if (!is_absent({name, value})) json[name] = value;
  }
  json["step_ms"] = step.step_ms;
  json["ranks"] = std::move(ranks);
  return line_of(json);
}

std::string json_line(const RestartMessage& restart) {
  const nlohmann::ordered_json json = {{"restart", restart.restart},
                                       {"from_step", restart.from_step},
                                       {"rank", restart.failure.rank},
                                       {"message", restart.failure.message}};
  return line_of(json);
}

}  // namespace shardscope
