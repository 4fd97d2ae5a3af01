#include <fmt/format.h>

#include <variant>

#include "engine/base/plural.h"
#include "engine/lint/rules/rules.h"

namespace shardscope {
namespace {

constexpr double most_bubble = 0.1;

std::vector<Fault> bubble_faults(const LintSubject& subject) {
  const Plan& plan = subject.plan;
  if (!plan.pipeline.axis || plan.simulation.bubble <= most_bubble) return {};
  Fault fault;
  fault.place = "schedule.microbatches";
  const int microbatches = plan.pipeline.shape.microbatches;
  fault.message = fmt::format("stages wait {:.0f} % of the step for each other with {}", 100 * plan.simulation.bubble,
                              counted(microbatches, "microbatch", "microbatches"));
  fault.seconds = plan.simulation.bubble * subject.step_seconds();
  const OptionValue* batch = subject.config.data.find("batch_size");
  const int64_t rows = batch && std::holds_alternative<int64_t>(*batch) ? std::get<int64_t>(*batch) : 0;
  for (int64_t more = 2 * microbatches; more <= rows; more += microbatches) {
    if (rows % more == 0) fault.fixes.push_back({fmt::format("schedule.microbatches={}", more)});
  }
  return fault.fixes.empty() ? std::vector<Fault>{} : std::vector{std::move(fault)};
}

}  // namespace

LintRule bubble_rule() {
  return {"bubble", "a pipeline's bubble above a tenth, with rows left for more microbatches", false, bubble_faults};
}

}  // namespace shardscope
