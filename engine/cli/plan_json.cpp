#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/cli/plan_report.h"
#include "engine/config/write.h"
#include "engine/plan/advice.h"
#include "engine/plan/host_groups.h"

namespace shardscope {

using Json = nlohmann::ordered_json;

namespace {

std::string text_of(std::string_view view) { return std::string(view); }

Json axis_names(const Plan& plan, const AxisList& axes) {
  Json names = Json::array();
  for (AxisIndex axis : axes) names.push_back(plan.mesh.axes()[axis].name);
  return names;
}

Json spec_json(const PartitionSpec& spec) {
  Json dims = Json::array();
  for (const auto& axes : spec.dims) {
    if (axes.empty()) dims.push_back(nullptr);
    else if (axes.size() == 1) dims.push_back(axes[0]);
    else dims.push_back(axes);
  }
  return dims;
}

Json collectives(const Plan& plan) {
  Json list = Json::array();
  const SequenceSteps steps = plan.steps();
  for (const auto& [id, count] : distinct_steps(plan.program.main())) {
    const Step& step = steps[id];
    if (!is_collective(step.kind)) continue;
    list.push_back({{"id", id},
                    {"kind", text_of(name(step.kind))},
                    {"axes", axis_names(plan, step.axes)},
                    {"group_size", step.group_size},
                    {"group_hosts", hosts_of_group(plan, step)},
                    {"bytes", step.payload_bytes},
                    {"wire_bytes", step.wire_bytes},
                    {"count", count},
                    {"arrays", step.inputs.size()},
                    {"phase", text_of(name(step.phase))},
                    {"op", step.op == no_id ? plan.step_name(step) : plan.graph->ops[step.op].name},
                    {"cause", plan.cause(step)},
                    {"seconds", plan.seconds(id)},
                    {"task", steps.task(id).name},
                    {"step", steps.id(id).step}});
  }
  return list;
}

Json texts(const std::vector<Error>& errors) {
  Json list = Json::array();
  for (const Error& error : errors) list.push_back(to_string(error));
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
  Json memory = Json::object();
  for (int i = 0; i < memory_category_count; ++i) {
    memory[text_of(name(static_cast<MemoryCategory>(i)))] = plan.totals.memory[i];
  }
  memory["total"] = plan.totals.memory_total;
  memory["live_lower_bound"] = plan.totals.live_lower_bound;
  memory["fragmentation"] = plan.totals.fragmentation();
  Json json = {{"mesh", {{"axes", axes}, {"devices", plan.mesh.devices()}}},
               {"memory", memory},
               {"wire_bytes_per_device", plan.totals.wire_bytes_per_device},
               {"flops_per_device", plan.totals.flops_per_device},
               {"seconds_per_step", plan.totals.seconds_per_step},
               {"hash", fmt::format("{:016x}", plan.hash)},
               {"planning_ms", plan.planning_milliseconds},
               {"collectives", collectives(plan)},
               {"parameters", parameters(plan)},
               {"warnings", texts(plan.warnings)},
               {"advice", texts(advice(plan))}};
  if (!plan.bf16_products.empty()) json["bf16_products"] = plan.bf16_products;
  return json.dump(1) + '\n';
}

}  // namespace shardscope
