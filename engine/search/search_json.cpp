#include "engine/search/search_json.h"

#include <nlohmann/json.hpp>

#include "engine/config/run_file_keys.h"
#include "engine/config/write.h"
#include "engine/search/conclusion.h"

namespace shardscope {

namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Found& found, const SearchRequest& request) {
  const Json run = Json::parse(write_run_config(run_of(request.plan.config, found.candidate)));
  return {{"candidate", found.index},
          {"strategy", run.value("strategy", Json::object())},
          {"mode", run_file::layout_modes()[static_cast<size_t>(found.candidate.mode)]},
          {"seconds_per_step", found.seconds},
          {"memory_bytes", found.memory_bytes},
          {"device_hours_per_step", found.seconds * static_cast<double>(request.devices) / 3600},
          {"mfu", found.mfu > 0 ? Json(found.mfu) : Json()},
          {"exposed_communication", found.exposed_share},
          {"bubble", found.bubble},
          {"limited_by", found.limit}};
}

}  // namespace

std::string search_json(const SearchResult& result, const SearchRequest& request) {
  Json front = Json::array(), fastest = Json::array();
  for (const Found& found : result.front) front.push_back(json_of(found, request));
  for (const Found& found : result.fastest) fastest.push_back(json_of(found, request));
  const SearchSpaceCounts& space = result.space;
  const Json json = {{"space",
                      {{"candidates", space.candidates},
                       {"pruned_by_states", space.too_large},
                       {"pruned_by_compute", space.too_slow},
                       {"pruned_by_plans", space.dominated},
                       {"planned", space.planned},
                       {"refused", space.illegal},
                       {"above_limit", space.above_limit},
                       {"dropped_by_heuristic", space.dropped},
                       {"open", space.open}}},
                     {"devices", request.devices},
                     {"front", front},
                     {"fastest", fastest},
                     {"gap", result.gap},
                     {"stopped", result.stopped},
                     {"conclusion", conclusion_of(result, request.objective)}};
  return json.dump(1) + '\n';
}

}  // namespace shardscope
