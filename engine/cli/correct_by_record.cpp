#include "engine/cli/correct_by_record.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/output_file.h"
#include "engine/base/plural.h"
#include "engine/base/standard_streams.h"
#include "engine/cli/command_line.h"
#include "engine/cli/text_table.h"
#include "engine/export/export_source.h"
#include "engine/machine/host_machine.h"
#include "engine/machine/machine_file.h"
#include "engine/session/machine_correction.h"

namespace shardscope {

namespace {

std::string table_of(const MachineCorrection& correction) {
  TextTable table({{"Family"},
                   {"Count", TextTable::Align::right},
                   {"Predicted", TextTable::Align::right},
                   {"Measured", TextTable::Align::right},
                   {"Off", TextTable::Align::right},
                   {"Corrected", TextTable::Align::right}});
  const auto text = [](double seconds) { return fmt::format("{:.3f} ms", seconds * 1e3); };
  for (const auto& [times, is_off, is_corrected, corrected] : correction.families)
    table.add_row({to_string(times.family), fmt::format("{}", times.count), text(times.predicted), text(times.measured),
                   fmt::format("{:.3g} x", times.off), text(corrected)});
  return table.text();
}

void save(const Machine& machine, const std::filesystem::path& path) {
  save_machine(machine, path);
  note(fmt::format("{}: the corrected machine", path.string()));
}

}  // namespace

int correct_by_record(const CorrectionArguments& arguments) {
  const ExportSource source = recorded_source(arguments.record);
  const Plan& plan = *source.plan;
  if (!arguments.out.empty()) check_late_output(arguments.out, Existing::refuse, source.inputs);
  if (arguments.keep && plan.ranks_per_host.size() > 1) {
    throw Failure(Error{"bad_argument", "the run went over several hosts, and this host's machine has one",
                        at_argument("--keep"), "--out FILE, and name it by --machine"});
  }
  const TraceMessage* trace = trace_of(source, TraceChoice::median);
  if (!trace) {
    throw Failure(
        Error{"no_trace", "the run has no measured step", in_file(arguments.record), "a run of a few steps has one"});
  }
  const MachineCorrection correction = correct_machine(plan, *trace);
  print_lines(fmt::format("Training step {} on {}, seconds of the mean rank without waiting\n{}{}\n", trace->step,
                          counted(plan.mesh.device_count(), "rank"), table_of(correction),
                          fmt::join(correction.lines(), "\n")));
  flush_lines();
  if (!correction.changes_machine()) return exit_ok;
  if (!arguments.out.empty()) save(correction.machine, arguments.out);
  if (arguments.keep) save(correction.machine, machine_path());
  if (arguments.out.empty() && !arguments.keep)
    note("--out FILE writes the corrected machine, --keep makes it this host's");
  return exit_ok;
}

}  // namespace shardscope
