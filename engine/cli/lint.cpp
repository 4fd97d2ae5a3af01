#include "engine/lint/lint.h"

#include <fmt/format.h>

#include <memory>

#include "engine/base/output_file.h"
#include "engine/base/plural.h"
#include "engine/base/standard_streams.h"
#include "engine/cli/cancel_on_signal.h"
#include "engine/cli/command_line.h"
#include "engine/cli/host_arguments.h"
#include "engine/cli/lint_report.h"
#include "engine/cli/machine_argument.h"
#include "engine/cli/progress_line.h"
#include "engine/cli/run_file_arguments.h"
#include "engine/cli/written_run_file.h"
#include "engine/compile/compile.h"
#include "engine/compile/file_paths.h"
#include "engine/compile/settings.h"
#include "engine/config/read_file.h"
#include "engine/config/write.h"

namespace shardscope {
namespace {

namespace fs = std::filesystem;

struct LintArguments {
  RunFileArguments run_file;
  HostArguments hosts;
  MachineArgument machine;
  std::vector<std::string> rules;
  std::string out;
  bool in_place = false, force = false, as_json = false;

  bool writes() const { return in_place || !out.empty(); }
};

[[noreturn]] void refuse_option(const std::string& option, std::string message, std::string hint) {
  throw Failure(Error{"bad_argument", std::move(message), at_argument(option), std::move(hint)});
}

// The run file as it stands on the disk: what is written must be of it alone, and of no other that took its place.
std::string text_to_replace(const LintArguments& arguments) {
  if (!arguments.in_place) return {};
  if (arguments.run_file.file == standard_stream)
    refuse_option("--in-place", "standard input cannot be written", "--write OUT");
  if (!arguments.run_file.assignments.empty() || !arguments.run_file.specs.empty())
    refuse_option("--in-place", "the file would get what --set and --specs say, too", "--write OUT");
  return read_file(arguments.run_file.file);
}

// Of outputs what would be refused when all is found, before that.
void check_outputs(const LintArguments& arguments, const std::vector<std::string>& inputs) {
  refuse_two_documents(arguments.as_json, arguments.out);
  std::error_code fault;
  if (arguments.in_place)
    check_late_output(fs::weakly_canonical(arguments.run_file.file, fault).string(), Existing::overwrite, {});
  if (!arguments.out.empty())
    check_late_output(arguments.out, arguments.force ? Existing::overwrite : Existing::refuse, inputs);
}

void write(const LintArguments& arguments, const RunConfig& config, const std::string& before,
           const std::vector<std::string>& inputs) {
  const std::string path = arguments.in_place ? arguments.run_file.file : arguments.out;
  if (path == standard_stream) return print_lines(write_run_config(config));
  const std::string text = write_run_config(with_relative_paths(config, fs::absolute(path).parent_path()));
  if (is_stream(path)) return write_new_file(path, text);
  if (arguments.in_place) {
    if (read_file(path) != before) {
      throw Failure(Error{"changed_file", "the file was changed meanwhile, and is left as it is", in_file(path),
                          "run lint again"});
    }
    replace_file(path, text);
    return;
  }
  WholeFile file(path, arguments.force ? Existing::overwrite : Existing::refuse, inputs,
                 static_cast<int64_t>(text.size()));
  put(file.file(), text, path);
  file.keep();
}

int lint_command(const LintArguments& arguments) {
  const std::string before = text_to_replace(arguments);
  const RunConfig own = arguments.run_file.load();
  check_outputs(arguments, arguments.run_file.inputs(own));
  const CancelOnSignal cancel;
  LintReport report;
  std::vector<Finding> fixed;
  try {
    const ProgressLine progress(fmt::format("{}: planning what could be better", arguments.run_file.file));
    const LintChoice choice{arguments.rules};
    const Plan plan = compile(
        arguments.run_file.request(arguments.hosts.with_hosts(arguments.machine.with_machine(own))), cancel.token());
    if (arguments.writes()) {
      FixedRun run = fix_all(plan, choice, cancel.token());
      report = std::move(run.left);
      fixed = std::move(run.applied);
    } else {
      report = lint(plan, choice, cancel.token());
    }
  } catch (const Cancelled&) {
    say(fmt::format("{}: cancelled; nothing was written", arguments.run_file.file));
    return exit_by_signal + cancel.first();
  }
  if (arguments.as_json) print_lines(lint_json(report, fixed));
  else if (arguments.out != standard_stream) print_lines(lint_text(report));
  flush_lines();
  if (!fixed.empty() || !arguments.out.empty()) {
    // The machine and hosts of the command line are not the file's.
    RunConfig config = own;
    for (const Finding& finding : fixed) config = with_settings(config, finding.fix->settings);
    if (arguments.writes()) write(arguments, config, before, arguments.run_file.inputs(own));
  }
  for (const Finding& finding : fixed) note(fmt::format("fixed: {}", to_string(to_error(finding))));
  return report.findings.empty() ? exit_ok : exit_failed_run;
}

}  // namespace

void add_lint(CLI::App& app, CommandLine& line) {
  CLI::App* command =
      app.add_subcommand("lint", "What makes a plan worse than it could be, what it costs, and the fix");
  auto arguments = std::make_shared<LintArguments>();
  arguments->run_file.add_to(*command);
  command->add_option("--rule", arguments->rules, "look for this alone; several times: for these")
      ->type_name("NAME")
      ->allow_extra_args(false);
  CLI::Option* out = command->add_option("--write", arguments->out, "fix all, and write the run file to OUT")
                         ->type_name("OUT")
                         ->transform(output_name);
  command->add_flag("--in-place", arguments->in_place, "fix all, and write the run file where it is")->excludes(out);
  command->add_flag("--force", arguments->force, "--write over a file that exists");
  command->add_flag("--json", arguments->as_json, "for scripts");
  arguments->machine.add_to(*command);
  arguments->hosts.add_list_to(*command);
  std::vector<std::pair<std::string, std::string>> rules;
  std::vector<std::string> names;
  for (const LintRule& rule : lint_rules()) {
    rules.emplace_back(rule.name, rule.what);
    names.emplace_back(rule.name);
  }
  line.help(command)
      .paragraph(
          "Place, what it costs a step in time and memory, the fix as `--set` assignments or why there is none, and "
          "the "
          "chapter of docs/lint.md. The code is 0 where nothing was found "
          "(with `--write` and `--in-place`: where nothing is left), 1 where something was, 2 for bad input.")
      .table("Rules", rules)
      .table(
          "Keys of lint --json",
          {{"findings, fixed",
            "of each `rule`, `place`, `message`, `cost.seconds`, `cost.bytes`, `fix` (a list of `path` and `value`, or "
            "null), `other_fixes` (each with `settings`, `seconds_per_step`, `bytes`), `no_fix` and `chapter`"},
           {"off", "rules that are turned off, with reasons"}})
      .values("--rule", names)
      .example("shardrun lint run.json", "what could be better, with costs and fixes")
      .example("shardrun lint run.json --write better.json", "with all fixes applied");
  command->callback([&line, arguments] { line.action = [arguments] { return lint_command(*arguments); }; });
}

}  // namespace shardscope
