#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/cli/plan_report.h"
#include "engine/config/write.h"
#include "engine/export/plan_words.h"
#include "engine/export/spec_json.h"
#include "engine/lint/lint.h"
#include "engine/plan/hidden_transfers.h"
#include "engine/plan/host_groups.h"
#include "engine/plan/message_seconds.h"
#include "engine/plan/prediction.h"
#include "engine/plan/time_causes.h"

namespace shardscope {

using Json = nlohmann::ordered_json;

namespace {

std::string text_of(std::string_view view) { return std::string(view); }

// Of a send the pipeline's.
Json axis_names(const Plan& plan, const Instruction& instruction) {
  if (is_transfer(instruction.kind())) return Json::array({plan.pipeline_axis()});
  Json names = Json::array();
  for (AxisIndex axis : instruction.axes()) names.push_back(plan.mesh.axes()[axis].name);
  return names;
}

// `messages`: seconds of each channel's.
void add_collectives(const Plan& plan, int stage, const std::vector<double>& messages, Json& list) {
  const SequenceInstructions steps = plan.instructions(stage);
  for (const auto& [id, count] : distinct_instructions(plan.program.main(stage))) {
    const Instruction& instruction = steps[id];
    if (!is_collective(instruction.kind()) && instruction.kind() != InstructionKind::send) continue;
    list.push_back({{"id", id},
                    {"stage", stage},
                    {"kind", text_of(name(instruction.kind()))},
                    {"axes", axis_names(plan, instruction)},
                    {"group_size", instruction.group_size()},
                    {"group_hosts", hosts_of_group(plan, instruction)},
                    {"bytes", instruction.payload_bytes()},
                    {"wire_bytes", instruction.wire_bytes()},
                    {"count", count},
                    {"arrays", instruction.operands().size()},
                    {"phase", text_of(name(instruction.phase))},
                    {"op", op_text(plan, instruction)},
                    {"cause", plan.cause(instruction)},
                    {"seconds", instruction.as<Send>() ? messages[instruction.channel()] : plan.seconds(id, stage)},
                    {"hidden_seconds", hidden_behind_passes(plan, stage, id)},
                    {"task", steps.task(id).name},
                    {"step", steps.id(id).index}});
  }
}

Json collectives(const Plan& plan) {
  Json list = Json::array();
  const std::vector<double> messages = message_seconds(plan);
  for (int stage = 0; stage < plan.program.stages; ++stage) add_collectives(plan, stage, messages, list);
  return list;
}

Json pipeline(const Plan& plan) {
  const PipelinePlan& pipeline = plan.pipeline;
  Json stages = Json::array();
  for (int stage = 0; stage < plan.program.stages; ++stage) {
    const PlanTotals& totals = pipeline.totals[static_cast<size_t>(stage)];
    stages.push_back({{"memory", totals.device_bytes},
                      {"wire_bytes_per_device", totals.wire_bytes_per_device},
                      {"flops_per_device", totals.flops_per_device},
                      {"seconds_at_work", totals.seconds_per_step},
                      {"microbatches_in_flight", pipeline.in_flight[static_cast<size_t>(stage)]}});
  }
  return {{"axis", plan.pipeline_axis()},     {"schedule", pipeline.schedule},
          {"layers", pipeline.layers},        {"stages", std::move(stages)},
          {"bubble", plan.simulation.bubble}, {"bubble_of_equal_stages", pipeline.equal_bubble}};
}

// By stage.
Json communication(const Plan& plan) {
  Json list = Json::array();
  for (int stage = 0; stage < plan.program.stages; ++stage) {
    const auto& [exposed, hidden] = plan.simulation.communication[static_cast<size_t>(stage)];
    Json axes = Json::array();
    for (const auto& [names, seconds] : exposed_by_axes(plan, stage))
      axes.push_back({{"axes", names}, {"seconds", seconds}});
    list.push_back({{"exposed_seconds", exposed}, {"hidden_seconds", hidden}, {"exposed_by_axes", std::move(axes)}});
  }
  return list;
}

// By stage.
Json work(const Plan& plan) {
  Json list = Json::array();
  for (int stage = 0; stage < plan.program.stages; ++stage) {
    Json families = Json::array();
    for (const auto& [family, axes, seconds, count] : work_by_family(plan, stage))
      families.push_back({{"family", family}, {"axes", axes}, {"seconds", seconds}, {"count", count}});
    list.push_back(std::move(families));
  }
  return list;
}

Json causes(const Plan& plan) {
  Json list = Json::array();
  for (const TimeCause& cause : time_causes(plan))
    list.push_back({{"cause", cause.name},
                    {"seconds", cause.seconds},
                    {"hidden_seconds", cause.hidden},
                    {"behind", cause.behind},
                    {"wire_bytes", cause.wire_bytes},
                    {"count", cause.count}});
  return list;
}

Json categories(const CategoryBytes& bytes) {
  Json json = Json::object();
  for (int i = 0; i < memory_category_count; ++i)
    json[text_of(name(static_cast<MemoryCategory>(i)))] = bytes[static_cast<size_t>(i)];
  return json;
}

// Of distinct ranks: one of each stage.
Json memory_of_ranks(const Plan& plan) {
  Json list = Json::array();
  for (const StageMemory& memory : memory_of_stages(plan)) {
    Json rank = {{"stage", memory.stage}, {"rank", memory.devices.front()}, {"ranks", memory.devices.size()}};
    rank.update(categories(memory.categories));
    rank["allocator"] = memory.allocator;
    rank["total"] = memory.total;
    list.push_back(std::move(rank));
  }
  return list;
}

// Beside the prediction what measurements of its machine and stack say of it.
void add_utilisation(const Plan& plan, Json& json) {
  constexpr double billion = 1e9;
  const Utilisation use = utilisation(plan);
  json["stack"] = plan.stack.name;
  json["tokens_per_step"] = use.tokens;
  json["tokens_per_second_per_device"] = use.tokens_per_second() / use.devices;
  json["model_flops_per_step"] = use.model_flops;
  json["hardware_flops_per_step"] = use.hardware_flops;
  json["mfu"] = use.mfu();
  json["hfu"] = use.hfu();
  json["device_hours_per_billion_tokens"] = use.device_hours(billion);
  if (plan.machine.price_per_device_hour > 0)
    json["cost_per_billion_tokens"] = use.device_hours(billion) * plan.machine.price_per_device_hour;
  const Evidence& evidence = plan.machine.evidence;
  Json range = {{"measurements", evidence.measurements}, {"memory_measurements", evidence.memory_measurements}};
  if (evidence.measurements > 0) {
    range["time_error"] = evidence.time_error;
    if (const PredictedRange seconds = seconds_range(plan))
      range["seconds_per_step"] = {seconds->first, seconds->second};
  }
  if (const PredictedRange bytes = memory_range(plan)) {
    range["memory_error"] = evidence.memory_error;
    range["memory"] = {bytes->first, bytes->second};
  }
  json["evidence"] = std::move(range);
}

Json texts(const std::vector<Error>& errors) {
  Json list = Json::array();
  for (const Error& error : errors) list.push_back(to_string(error));
  return list;
}

std::vector<Error> advice(const Plan& plan) {
  std::vector<Error> list;
  for (const Finding& finding : certain_findings(plan)) list.push_back(to_error(finding));
  return list;
}

Json parameters(const Plan& plan) {
  Json list = Json::array();
  for (const ParameterPlan& parameter : plan.parameters) {
    Shape local = local_shape(parameter.sharding, plan.mesh, parameter.shape);
    list.push_back({{"path", parameter.path},
                    {"shape", parameter.shape},
                    {"dtype", text_of(name(parameter.dtype))},
                    {"spec", spec_json(parameter.spec)},
                    {"why", parameter.origin.text},
                    {"local_shape", local},
                    {"bytes_per_device", element_count(local) * byte_size(parameter.dtype)}});
  }
  return list;
}

}  // namespace

std::string plan_json(const Plan& plan) {
  Json axes = Json::array();
  for (const MeshAxis& axis : plan.mesh.axes()) axes.push_back({{"name", axis.name}, {"size", axis.size}});
  Json memory = categories(plan.totals.device_memory);
  memory["allocator"] = plan.totals.allocator_bytes;
  memory["total"] = plan.totals.device_bytes;
  memory["live_lower_bound"] = plan.totals.live_lower_bound;
  memory["fragmentation"] = plan.totals.fragmentation();
  memory["ranks"] = memory_of_ranks(plan);
  Json json = {{"mesh", {{"axes", axes}, {"devices", plan.mesh.devices()}}},
               {"memory", memory},
               {"wire_bytes_per_device", plan.totals.wire_bytes_per_device},
               {"flops_per_device", plan.totals.flops_per_device},
               {"seconds_per_step", plan.totals.seconds_per_step},
               {"communication", communication(plan)},
               {"causes", causes(plan)},
               {"work", work(plan)},
               {"hash", fmt::format("{:016x}", plan.hash)},
               {"planning_ms", plan.planning_milliseconds},
               {"collectives", collectives(plan)},
               {"parameters", parameters(plan)},
               {"warnings", texts(plan.warnings)},
               {"advice", texts(advice(plan))}};
  add_utilisation(plan, json);
  if (plan.pipeline.axis) json["pipeline"] = pipeline(plan);
  if (!plan.bf16_products.empty()) json["bf16_products"] = plan.bf16_products;
  return json.dump(1) + '\n';
}

}  // namespace shardscope
