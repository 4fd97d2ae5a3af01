#include "engine/export/tensorboard.h"

#include <fmt/format.h>

#include <numeric>

#include "engine/base/wall_time.h"
#include "engine/export/event_file.h"

namespace shardscope {

namespace {

float sum(const PhaseMs& phases) { return static_cast<float>(std::accumulate(phases.begin(), phases.end(), 0.0)); }

}  // namespace

std::string step_record(const StepMessage& step, double wall_time) {
  std::vector<Scalar> scalars;
  for (const MetricValue& metric : step.metrics) {
    if (!is_absent(metric)) scalars.emplace_back(metric.name, static_cast<float>(metric.value));
  }
  scalars.emplace_back("step_ms", static_cast<float>(step.step_ms));
  for (const RankMeasurement& rank : step.ranks) {
    const auto add = [&](const char* what, float value) {
      scalars.emplace_back(fmt::format("{}/rank_{}", what, rank.rank), value);
    };
    add("busy_ms", sum(rank.busy_ms));
    add("wait_ms", sum(rank.wait_ms));
    add("wire_bytes_sent", static_cast<float>(rank.wire_bytes));
    if (rank.moved_bytes >= 0) add("moved_bytes", static_cast<float>(rank.moved_bytes));
    add("outside_bytes", static_cast<float>(rank.outside_bytes));
  }
  return scalars_record(wall_time, step.step, scalars);
}

TensorboardLog::TensorboardLog(const std::string& folder)
    : folders_(folder), file_(folder + "/" + event_file_name(), Existing::refuse, {}) {
  append(file_version_record(seconds_since_1970()));
}

void TensorboardLog::begin() {
  file_.begin();
  folders_.keep();
}

void TensorboardLog::undo() {
  file_.undo();
  folders_.keep(false);
}

void TensorboardLog::add(const Message& message) {
  if (auto* step = std::get_if<StepMessage>(&message)) append(step_record(*step, seconds_since_1970()));
  else if (auto* restart = std::get_if<RestartMessage>(&message))
    append(restart_record(seconds_since_1970(), restart->from_step));
  if (!std::holds_alternative<FinishedMessage>(message)) return;
  if (const std::optional<Error> loss = file_.loss()) throw Failure(*loss);
}

void TensorboardLog::append(const std::string& record) {
  if (const int error = file_.put(record); error != 0) fail_to_write(file_.path(), error);
}

}  // namespace shardscope
