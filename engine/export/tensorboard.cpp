#include "engine/export/tensorboard.h"

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <numeric>

#include "engine/base/error.h"
#include "engine/export/event_file.h"

namespace shardscope {

namespace {

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

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
    add("outside_bytes", static_cast<float>(rank.outside_bytes));
  }
  return scalars_record(wall_time, step.step, scalars);
}

TensorboardLog::TensorboardLog(const std::string& folder) : path_(folder + "/" + event_file_name()) {
  std::error_code fault;
  std::filesystem::create_directories(folder, fault);
  if (fault) throw Failure(Error{"unwritable_file", "cannot write: " + fault.message(), in_file(folder), ""});
  file_ = open_output(path_, Existing::refuse, {});
  put(file_version_record(now()));
}

void TensorboardLog::add(const Message& message) {
  if (auto* step = std::get_if<StepMessage>(&message)) put(step_record(*step, now()));
  else if (auto* restart = std::get_if<RestartMessage>(&message)) put(restart_record(now(), restart->from_step));
}

void TensorboardLog::put(const std::string& record) {
  if (!file_) return;
  if (std::fwrite(record.data(), 1, record.size(), file_.get()) == record.size() && std::fflush(file_.get()) == 0)
    return;
  const std::string reason = std::strerror(errno);
  file_.reset();
  throw Failure(Error{"unwritable_file", "cannot write: " + reason, in_file(path_), ""});
}

}  // namespace shardscope
