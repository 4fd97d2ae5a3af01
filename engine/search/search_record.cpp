#include "engine/search/search_record.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "engine/compile/compile.h"
#include "engine/config/write.h"
#include "engine/machine/machine_file.h"
#include "models/registry.h"

namespace shardscope {

namespace {

using Record = nlohmann::json;

std::string name_of_request(const SearchRequest& request, const std::string& program) {
  const RunConfig& config = request.plan.config;
  Hasher hasher;
  hasher.add(program).add(write_run_config(config)).add(machine_text(request.plan.machine));
  if (const ModelDefinition* model = find_model(config.model.name); model && model->describe)
    hasher.add(model_description(config).config);
  hasher.add(request.devices).add(request.at_most_memory.value_or(-1)).add(request.at_most_seconds.value_or(-1));
  for (const auto& [number, values] : request.fixed) {
    hasher.add(number);
    for (const std::string& value : values) hasher.add(value);
  }
  return fmt::format("{:016x}", hasher.digest());
}

Record line_of(int index, const std::optional<Found>& plan) {
  if (!plan) return {index};
  return {index, plan->seconds, plan->memory_bytes, plan->mfu, plan->exposed_share, plan->bubble, plan->limit};
}

}  // namespace

std::string record_text(const SearchRecord& record, const SearchRequest& request, const std::string& program) {
  Record plans = Record::array(), bounds = Record::array();
  for (const auto& [index, plan] : record.plans) plans.push_back(line_of(index, plan));
  for (const auto& [at, bound] : record.bounds)
    bounds.push_back({at.first, at.second, bound.seconds, bound.memory_bytes, bound.likely_bytes});
  return Record({{"search_of", name_of_request(request, program)}, {"plans", plans}, {"bounds", bounds}}).dump() + '\n';
}

SearchRecord read_record(const std::string& text, const SearchRequest& request, const std::string& program,
                         const std::string& path) {
  const auto fail = [&](const std::string& message, const std::string& hint) {
    throw Failure(Error{"bad_search_record", message, at_argument("--resume " + path), hint});
  };
  SearchRecord record;
  try {
    const Record json = Record::parse(text);
    if (json.at("search_of").get<std::string>() != name_of_request(request, program))
      fail("what was searched there is another request, or by another version of the program",
           "the same run file, machine, devices and limits; or another file");
    const std::vector<Candidate> all = candidates(model_limits(request.plan.config), request.devices, request.fixed);
    for (const Record& line : json.at("plans")) {
      const int index = line.at(0);
      std::optional<Found> plan;
      if (line.size() > 1)
        plan = Found{
            index,     all.at(static_cast<size_t>(index)), line.at(1), line.at(2), line.at(3), line.at(4), line.at(5),
            line.at(6)};
      record.plans.emplace(index, std::move(plan));
    }
    for (const Record& line : json.at("bounds"))
      record.bounds.emplace(std::pair<int, int>(line.at(0), line.at(1)), Bound{line.at(2), line.at(3), line.at(4)});
  } catch (const Record::exception&) {
    fail("this is no record of a search", "a file that --resume has written");
  } catch (const std::out_of_range&) {
    fail("this is no record of a search", "a file that --resume has written");
  }
  return record;
}

}  // namespace shardscope
