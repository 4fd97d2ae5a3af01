#include "engine/cli/machine_correction.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "engine/base/output_file.h"
#include "engine/base/plural.h"
#include "engine/base/standard_streams.h"
#include "engine/cli/command_line.h"
#include "engine/cli/text_table.h"
#include "engine/export/export_source.h"
#include "engine/machine/host_machine.h"
#include "engine/machine/machine_file.h"
#include "engine/plan/cost_model.h"
#include "engine/session/family_times.h"

namespace shardscope {

namespace {

// Less is not worth a change, or is noise.
constexpr double most_off = 1.1, least_share = 0.01;

bool is_off(const FamilyTimes& times, double all) {
  return std::abs(std::log(times.off)) > std::log(most_off) && times.measured > least_share * all;
}

// What the plan's families take on another machine.
std::map<PricedFamily, double> predictions(Plan plan, const TraceMessage& trace, const Machine& machine) {
  plan.machine = machine;
  const WorkPrices prices(machine, plan.mesh, plan.pipeline.axis);
  plan.instruction_seconds = predict_seconds(plan.program, *plan.graph, prices);
  std::map<PricedFamily, double> seconds;
  for (const FamilyTimes& times : family_times(plan, trace)) seconds[times.family] = times.predicted;
  return seconds;
}

std::string table_of(const std::vector<FamilyTimes>& families, const std::map<PricedFamily, double>& corrected) {
  TextTable table({{"Family"},
                   {"Count", TextTable::Align::right},
                   {"Predicted", TextTable::Align::right},
                   {"Measured", TextTable::Align::right},
                   {"Off", TextTable::Align::right},
                   {"Corrected", TextTable::Align::right}});
  const auto text = [](double seconds) { return fmt::format("{:.3f} ms", seconds * 1e3); };
  for (const FamilyTimes& times : families)
    table.add_row({to_string(times.family), fmt::format("{}", times.count), text(times.predicted), text(times.measured),
                   fmt::format("{:.3g} x", times.off), text(corrected.at(times.family))});
  return table.text();
}

void write(const Machine& machine, const MachineCorrection& wish, const Plan& plan, std::vector<std::string> inputs) {
  if (!wish.out.empty()) {
    check_output(wish.out, Existing::refuse, inputs);
    save_machine(machine, wish.out);
    note(fmt::format("{}: the corrected machine", wish.out));
  }
  if (!wish.keep) return;
  if (plan.ranks_per_host.size() > 1) {
    throw Failure(Error{"bad_argument", "the run went over several hosts, and this host's machine has one",
                        at_argument("--keep"), "--out FILE, and name it by --machine"});
  }
  save_machine(machine, machine_path());
  note(fmt::format("{}: the corrected machine", machine_path().string()));
}

}  // namespace

int MachineCorrection::run() const {
  const ExportSource source = recorded_source(record);
  const TraceMessage* trace = trace_of(source, TraceChoice::median);
  if (!trace) {
    throw Failure(Error{"no_trace", "the run has no measured step", in_file(record), "a run of a few steps has one"});
  }
  const Plan& plan = *source.plan;
  const std::vector<FamilyTimes> families = family_times(plan, *trace);
  double all = 0;
  for (const FamilyTimes& times : families) all += times.measured;
  std::string lines;
  Machine machine = plan.machine;
  for (const FamilyTimes& times : families) {
    if (!is_off(times, all)) continue;
    const std::optional<double> slower = times.correction();
    lines += fmt::format("{}: {:.3g} times as long as predicted, {:.0f} % of the step{}\n", to_string(times.family),
                         times.off, 100 * times.measured / all,
                         slower ? "" : "; most of it is latency, which is not corrected");
    if (slower) machine = with_slower(std::move(machine), times.family, *slower, "corrected by a recorded run");
  }
  if (lines.empty()) lines = fmt::format("No family is off by more than {:.0f} %\n", 100 * (most_off - 1));
  print_lines(fmt::format("Training step {} on {}, seconds of the mean rank without waiting\n{}{}", trace->step,
                          counted(plan.mesh.device_count(), "rank"),
                          table_of(families, predictions(plan, *trace, machine)), lines));
  flush_lines();
  if (machine == plan.machine) return exit_ok;
  if (out.empty() && !keep) note("--out FILE writes the corrected machine, --keep makes it this host's");
  write(machine, *this, plan, source.inputs);
  return exit_ok;
}

}  // namespace shardscope
