#include "engine/export/export_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/plural.h"
#include "engine/compile/compile.h"
#include "engine/config/parse.h"

namespace shardscope {

MeasuredRun measured_run(std::shared_ptr<const RecordedRun> run) {
  const double started = run->started();
  std::vector<TraceMessage> traces = run->traces();
  return {started, std::move(traces), [run = std::move(run)](const auto& take) { run->replay(take); }};
}

ExportSource recorded_source(const std::string& folder, std::stop_token stop) {
  auto run = std::make_shared<const RecordedRun>(folder);
  const std::string run_file = run->files().run_file();
  auto plan = std::make_shared<Plan>(compile({load_run_config(run_file), run->machine()}, stop));
  if (plan->hash != run->hello().plan_hash || plan_step_names(*plan) != run->hello().plan_steps) {
    throw Failure(Error{"record_version",
                        fmt::format("the run was of plan {:016x}; this program makes {:016x} of the same run file",
                                    run->hello().plan_hash, plan->hash),
                        in_file(run_file), "the build of the program that recorded it, and the files as it left them"});
  }
  std::vector<std::string> inputs = run->files().all();
  return {std::move(plan), measured_run(std::move(run)), std::move(inputs), {}, folder};
}

const MeasuredRun& run_of(const ExportSource& source, const std::string& what) {
  if (source.run) return *source.run;
  throw Failure(Error{"no_run", fmt::format("{} is of a run that was recorded, and this is a run file", what),
                      at_argument("export"), "'shardrun train FILE --record DIR' records a run; export DIR then"});
}

void replay_steps(const ExportSource& source, ExportTarget& target,
                  const std::function<void(const StepMessage&)>& on_step,
                  const std::function<void(const RestartMessage&)>& on_restart) {
  int64_t steps = 0;
  source.run->replay([&](const Message& message) {
    if (auto* step = std::get_if<StepMessage>(&message)) {
      on_step(*step);
      target.progress(static_cast<double>(++steps) / static_cast<double>(source.plan->training.steps));
    } else if (auto* restart = std::get_if<RestartMessage>(&message)) {
      on_restart(*restart);
    }
  });
  target.note(counted(steps, "step"));
}

const TraceMessage* trace_of(const ExportSource& source, std::optional<TraceChoice> choice) {
  if (!source.run) return nullptr;
  for (TraceChoice wanted : {choice.value_or(TraceChoice::median), TraceChoice::slowest, TraceChoice::latest}) {
    const auto found = std::ranges::find(source.run->traces, wanted, &TraceMessage::choice);
    if (found != source.run->traces.end()) return &*found;
  }
  return nullptr;
}

}  // namespace shardscope
