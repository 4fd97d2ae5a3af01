#include "engine/cli/suggestion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/base/plural.h"
#include "engine/cli/text_table.h"
#include "engine/plan/strategy.h"

namespace shardscope {

namespace {

using Json = nlohmann::ordered_json;

std::string gigabytes(double bytes) { return fmt::format("{:.4g} GB", bytes / 1e9); }

SelectedStrategy selected(const SuggestionRequest& request, double parameters, double factor = document_factor) {
  return select_parallelism_strategy(parameters, request.devices, request.memory_bytes / 1e9, factor);
}

// As Python prints a tuple.
std::string tuple_text(const std::vector<int64_t>& sizes) {
  return fmt::format("({}{})", fmt::join(sizes, ", "), sizes.size() == 1 ? "," : "");
}

// What the document's example prints.
std::string printed(const SelectedStrategy& strategy) {
  return fmt::format(
      "Selected strategy: {}\nData parallel: {}\nTensor parallel: {}\nPipeline parallel: {}\nMesh shape: {}\n",
      strategy.strategy, strategy.data, strategy.tensor, strategy.pipeline, tuple_text(strategy.mesh_shape));
}

std::vector<std::string> faults(const SuggestionRequest& request) {
  const SelectedStrategy chosen = selected(request, request.parameters);
  const double devices = static_cast<double>(request.devices), billions = request.parameters / 1e9;
  const double each = document_bytes * document_factor, commented = document_bytes * commented_factor;
  std::vector<std::string> list;
  list.push_back(
      fmt::format("It asks for billions, and its example passes them, but computes with single parameters: {:g} are "
                  "{:.3g} bytes to "
                  "it, and the answer is {}.",
                  billions, billions * each, selected(request, billions).strategy));
  if (chosen.divided) {
    list.push_back(fmt::format(
        "It divides the parameters by the devices ({:g} / {} x {:g} bytes = {}) and says data_parallel; but data "
        "parallelism keeps all of them on every device ({}). Only ZeRO-3 divides them.",
        request.parameters, request.devices, each, gigabytes(request.parameters / devices * each),
        gigabytes(request.parameters * each)));
  }
  const SelectedStrategy by_comments = selected(request, request.parameters, commented_factor);
  list.push_back(fmt::format(
      "Its comments add up to 6 times the parameters (parameters 1, gradients 1, Adam 2, activations 2), and it "
      "multiplies by 5: {} instead of {} a device{}.",
      gigabytes(request.parameters / devices * commented), gigabytes(request.parameters / devices * each),
      by_comments.strategy == chosen.strategy ? "" : ", with which it would say " + by_comments.strategy));
  const int64_t used = chosen.data * chosen.tensor * chosen.pipeline;
  if (used != request.devices) {
    list.push_back(fmt::format("Its mesh {} has {} of {}.", tuple_text(chosen.mesh_shape), used,
                               counted(request.devices, "device")));
  }
  return list;
}

std::string mesh_text(const Strategy& strategy) {
  std::vector<std::string> axes;
  const std::pair<const char*, int64_t> sizes[] = {
      {"data", strategy.data}, {"model", strategy.tensor}, {"pipeline", strategy.pipeline}};
  for (const auto& [axis, size] : sizes) {
    if (size > 1) axes.push_back(fmt::format("{}={}", axis, size));
  }
  return axes.empty() ? "1 device" : fmt::format("{}", fmt::join(axes, ","));
}

bool fits(const SuggestionRequest& request, const Strategy& strategy, const StateBytes& bytes) {
  return state_bytes(strategy, request.parameters, bytes) <= request.memory_bytes;
}

// So many that the states of all parameters, each kept once, have room.
double least_devices(const SuggestionRequest& request, const StateBytes& bytes) {
  return std::ceil(request.parameters * bytes.total() / request.memory_bytes);
}

std::string strategy_table(const SuggestionRequest& request) {
  using Align = TextTable::Align;
  std::vector<TextTable::Column> columns{{"Strategy"}, {"Mesh"}};
  for (const StateBytes& bytes : state_bytes_kinds) {
    columns.push_back({bytes.name, Align::right});
    columns.push_back({"fits"});
  }
  TextTable table(std::move(columns));
  for (const Strategy& strategy : common_strategies(request.devices)) {
    std::vector<std::string> cells{strategy.name, mesh_text(strategy)};
    for (const StateBytes& bytes : state_bytes_kinds) {
      cells.push_back(gigabytes(state_bytes(strategy, request.parameters, bytes)));
      cells.push_back(fits(request, strategy, bytes) ? "yes" : "no");
    }
    table.add_row(std::move(cells));
  }
  return table.text();
}

}  // namespace

std::string suggestion_text(const SuggestionRequest& request) {
  std::string text =
      fmt::format("The Workshop document's select_parallelism_strategy({:g}, {}, {:g}):\n{}", request.parameters,
                  request.devices, request.memory_bytes / 1e9, printed(selected(request, request.parameters)));
  text += "\nWhat is wrong with it:\n";
  for (const std::string& fault : faults(request)) text += "- " + fault + "\n";
  text += fmt::format("\nParameters, gradients and Adam's state on each device of {}; activations come on top:\n{}\n",
                      gigabytes(request.memory_bytes), strategy_table(request));
  for (const StateBytes& bytes : state_bytes_kinds) {
    text += fmt::format("{}: {:g} + {:g} + {:g} bytes a parameter, {} in all, on {:g} devices at least\n", bytes.name,
                        bytes.parameters, bytes.gradients, bytes.optimizer,
                        gigabytes(request.parameters * bytes.total()), least_devices(request, bytes));
  }
  return text;
}

std::string suggestion_json(const SuggestionRequest& request) {
  const SelectedStrategy chosen = selected(request, request.parameters);
  Json strategies = Json::array(), kinds = Json::array();
  for (const StateBytes& bytes : state_bytes_kinds) {
    kinds.push_back({{"name", bytes.name},
                     {"parameters", bytes.parameters},
                     {"gradients", bytes.gradients},
                     {"optimizer", bytes.optimizer},
                     {"least_devices", least_devices(request, bytes)}});
  }
  for (const Strategy& strategy : common_strategies(request.devices)) {
    Json states = Json::array();
    for (const StateBytes& bytes : state_bytes_kinds) {
      states.push_back({{"states", bytes.name},
                        {"bytes", state_bytes(strategy, request.parameters, bytes)},
                        {"fits", fits(request, strategy, bytes)}});
    }
    strategies.push_back({{"name", strategy.name},
                          {"data", strategy.data},
                          {"model", strategy.tensor},
                          {"pipeline", strategy.pipeline},
                          {"zero_stage", strategy.zero_stage},
                          {"per_device", states}});
  }
  const Json json = {{"parameters", request.parameters},
                     {"devices", request.devices},
                     {"memory_bytes", request.memory_bytes},
                     {"document",
                      {{"strategy", chosen.strategy},
                       {"data_parallel_size", chosen.data},
                       {"tensor_parallel_size", chosen.tensor},
                       {"pipeline_parallel_size", chosen.pipeline},
                       {"mesh_shape", chosen.mesh_shape},
                       {"mesh_axis_names", chosen.mesh_axis_names},
                       {"faults", faults(request)}}},
                     {"states", kinds},
                     {"strategies", strategies}};
  return json.dump(1) + '\n';
}

}  // namespace shardscope
