#include "engine/export/export_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/compile/compile.h"
#include "engine/config/parse.h"
#include "engine/session/recorded_run.h"

namespace shardscope {

ExportSource recorded_source(const std::string& folder, std::stop_token stop) {
  auto run = std::make_shared<const RecordedRun>(folder);
  const std::string run_file = folder + "/run_file.json";
  auto plan = std::make_shared<Plan>(compile(load_run_config(run_file), run->profile(), stop));
  if (plan->hash != run->hello().plan_hash || plan_step_names(*plan) != run->hello().plan_steps) {
    throw Failure(Error{"record_version",
                        fmt::format("the run was of plan {:016x}; this program makes {:016x} of the same run file",
                                    run->hello().plan_hash, plan->hash),
                        in_file(run_file), "the build of the program that recorded it, and the files as it left them"});
  }
  ExportSource source{std::move(plan), MeasuredRun{run->started(), run->traces(), {}}, {}};
  source.run->replay = [run](const std::function<void(const Message&)>& take) { run->replay(take); };
  for (const char* name : {"record.json", "run_file.json", "profile.json", "messages.jsonl", "trace_latest.json",
                           "trace_slowest.json", "trace_median.json"})
    source.inputs.push_back(folder + "/" + name);
  return source;
}

const MeasuredRun& run_of(const ExportSource& source, const std::string& what) {
  if (source.run) return *source.run;
  throw Failure(Error{"no_run", fmt::format("{} is of a run that was recorded, and this is a run file", what),
                      at_argument("export"), "'shardrun train FILE --record DIR' records a run; export DIR then"});
}

const TraceMessage* trace_of(const ExportSource& source, TraceChoice choice) {
  if (!source.run) return nullptr;
  for (TraceChoice wanted : {choice, TraceChoice::slowest, TraceChoice::latest}) {
    const auto found = std::ranges::find(source.run->traces, wanted, &TraceMessage::choice);
    if (found != source.run->traces.end()) return &*found;
  }
  return nullptr;
}

}  // namespace shardscope
