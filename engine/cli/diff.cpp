#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "engine/base/standard_streams.h"
#include "engine/cli/cancel_on_signal.h"
#include "engine/cli/command_line.h"
#include "engine/cli/diff_report.h"
#include "engine/cli/machine_argument.h"
#include "engine/cli/progress_line.h"
#include "engine/compile/compile.h"
#include "engine/compile/file_faults.h"
#include "engine/compile/file_paths.h"
#include "engine/config/parse.h"

namespace shardscope {
namespace {

struct DiffArguments {
  std::string before, after;
  MachineArgument machine;
  bool as_json = false;
};

// A run file's plan, or a recorded run with its plan.
ExportSource source_of(const std::string& file, const DiffArguments& arguments, std::stop_token stop) {
  if (std::error_code fault; std::filesystem::is_directory(file, fault)) {
    if (arguments.machine.is_given())
      throw Failure(Error{"bad_argument", "a recorded run is as it was; --machine is for run files", in_file(file),
                          "compare run_file.json of the folder"});
    return recorded_source(file, stop);
  }
  ReadRunFile read = read_run_file(file);
  if (!read.errors.empty()) throw Failure(all_faults(read, file));
  const RunConfig config = arguments.machine.with_machine(
      with_absolute_paths(std::move(read.config), std::filesystem::path(file).parent_path()));
  if (std::vector<Error> errors = validate(config); !errors.empty())
    throw Failure(locate_errors(std::move(errors), read.text, file));
  return {std::make_shared<const Plan>(compile(plan_request(config), stop)), {}, {file}, {}};
}

int diff_command(const DiffArguments& arguments) {
  const CancelOnSignal cancel;
  try {
    DiffReport report;
    {
      const ProgressLine progress("diff: planning");
      const ExportSource before = source_of(arguments.before, arguments, cancel.token());
      const ExportSource after = source_of(arguments.after, arguments, cancel.token());
      report = diff_report(before, after);
    }
    print_lines(arguments.as_json ? diff_json(report) : diff_text(report));
    return exit_ok;
  } catch (const Cancelled&) {
    return exit_by_signal + cancel.first();
  }
}

}  // namespace

void add_diff(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand(
      "diff", "What differs between two plans or recorded runs, and what it changes in time and memory");
  auto arguments = std::make_shared<DiffArguments>();
  command->add_option("A", arguments->before, "run file, or folder of a recorded run")->required();
  command->add_option("B", arguments->after, "the same, to compare with it")->required();
  command->add_flag("--json", arguments->as_json, "for scripts");
  arguments->machine.add_to(*command);
  line.help(command)
      .paragraph(
          "It lists, what changes most first: settings; predicted time of a step by cause, whose differences add up to "
          "that of the step, with what is no longer hidden behind which computation; hidden communication by cause; "
          "memory by category; bytes that a device sends by collective (added, removed, larger, smaller); shardings. "
          "Arrays and instructions that are alike in all layers are one line. Of recorded runs it also gives metrics "
          "of the steps that both have, step times with a confidence interval of 95 % (steps count as independent; the "
          "first is left out), and measured time by cause.")
      .table("Keys of diff --json",
             {{"seconds_per_step", "`before` and `after`, predicted"},
              {"settings, shardings",
               "what of the run files and of the arrays' layouts differs: `before`, `after`; `count` of arrays that "
               "differ so"},
              {"times", "seconds of a step by `cause`: `before`, `after`, `note`"},
              {"hidden", "seconds in which communication runs beside computation by `cause`: `before`, `after`"},
              {"memory", "bytes by `category`: `before`, `after`"},
              {"collectives", "`name`, `what` (added, removed, larger, smaller), counts and bytes sent in a step"},
              {"measured",
               "of recorded runs: step times (`mean_ms`, `half_width_ms`: null of fewer than two steps), `metrics`, "
               "`times` by cause"}})
      .example("shardrun diff before.json after.json", "what an edit changes in time and memory")
      .example("shardrun diff run_1 run_2", "which of two recorded runs is faster, and where");
  command->callback([&line, arguments] { line.action = [arguments] { return diff_command(*arguments); }; });
}

}  // namespace shardscope
