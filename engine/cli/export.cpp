#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "engine/base/error.h"
#include "engine/base/output_file.h"
#include "engine/base/standard_streams.h"
#include "engine/base/units.h"
#include "engine/cli/cancel_on_signal.h"
#include "engine/cli/command_line.h"
#include "engine/cli/host_arguments.h"
#include "engine/cli/machine_argument.h"
#include "engine/cli/progress_line.h"
#include "engine/cli/run_file_arguments.h"
#include "engine/cli/text_table.h"
#include "engine/compile/compile.h"
#include "engine/export/export_kind.h"
#include "engine/export/headless.h"

namespace shardscope {

namespace {

struct ExportArguments {
  RunFileArguments run_file;
  HostArguments hosts;
  std::string kind, out, page, trace, size, check;
  MachineArgument machine;
  bool force = false;

  ExportSource source(bool with_plan, std::stop_token stop) const {
    if (std::error_code fault; std::filesystem::is_directory(run_file.file, fault)) {
      if (!run_file.assignments.empty() || !run_file.specs.empty() || machine.is_given()) {
        throw Failure(Error{"bad_argument",
                            "a recorded run is as it was; --set, --specs and --machine are for run files",
                            at_argument("export"), "export run_file.json of the folder with them"});
      }
      return recorded_source(run_file.file, stop);
    }
    if (!trace.empty()) {
      throw Failure(Error{"bad_argument", "only a recorded run has steps that were measured, and this is a run file",
                          at_argument("--trace " + trace),
                          "'shardrun train FILE --record DIR' records a run; export DIR then"});
    }
    const RunConfig own = run_file.load();
    const RunConfig config = with_plan ? hosts.with_hosts(machine.with_machine(own)) : own;
    std::vector<std::string> inputs = run_file.inputs(config);
    if (!with_plan) return {nullptr, {}, std::move(inputs), config};
    auto plan = std::make_shared<Plan>(compile(run_file.request(config), stop));
    return {std::move(plan), {}, std::move(inputs), {}};
  }
  ExportChoice choice() const { return {page, trace_choice(trace), picture_size(size)}; }

  // What is written without a plan depends on no machine.
  void refuse_unused(const ExportKind& of) const {
    if (of.needs_plan) return;
    for (const auto& [option, value] :
         {std::pair{"--machine", machine.name}, {"--hosts", hosts.list}, {"--hostfile", hosts.file}}) {
      if (value.empty()) continue;
      throw Failure(Error{"bad_argument", fmt::format("{} is the same for every machine", of.name),
                          at_argument(fmt::format("{} {}", option, value)), "leave it out"});
    }
  }
};

int export_file(const ExportArguments& arguments) {
  const ExportKind& kind = find_export_kind(arguments.kind);
  arguments.refuse_unused(kind);
  const CancelOnSignal cancel;
  try {
    Exported exported;
    double seconds = 0;
    {
      ProgressLine progress(fmt::format("{}: planning", arguments.out));
      ExportTarget::Options options;
      options.existing = arguments.force ? Existing::overwrite : Existing::refuse;
      options.stop = cancel.token();
      options.on_progress = [&](double share) { progress.show(share); };
      const ExportSource source = arguments.source(kind.needs_plan, cancel.token());
      progress.begin(fmt::format("{}: writing", arguments.out));
      exported = export_source(kind, source, arguments.choice(), arguments.out, options);
      seconds = progress.seconds();
    }
    note(fmt::format("{}: {}, {}{:.2g} s", exported.path, bytes_text(static_cast<double>(exported.bytes)),
                     exported.notes.empty() ? "" : fmt::format("{}, ", fmt::join(exported.notes, ", ")), seconds));
    return exit_ok;
  } catch (const Cancelled&) {
  } catch (const Failure& failure) {
    // Else a call that the signal interrupted.
    if (cancel.first() == 0) throw Failure(arguments.run_file.located(failure.errors()));
  }
  say(fmt::format("{}: cancelled; nothing was written", arguments.out));
  return exit_by_signal + cancel.first();
}

int export_command(const ExportArguments& arguments) {
  if (!arguments.check.empty()) {
    if (!arguments.run_file.file.empty() || !arguments.kind.empty()) {
      throw Failure(Error{"bad_argument", "a folder is verified, and nothing is exported",
                          at_argument("--check " + arguments.check), "shardrun export --check FOLDER alone"});
    }
    print_lines(check_headless(arguments.check) + "\n");
    return exit_ok;
  }
  if (arguments.run_file.file.empty() || arguments.kind.empty() || arguments.out.empty()) {
    throw Failure(Error{"bad_argument", "a run file or a recorded run, a kind and a place to write to are needed",
                        at_argument("export"), "shardrun export FILE --to KIND OUT, or --check FOLDER"});
  }
  return export_file(arguments);
}

void describe_export(HelpText& help) {
  std::vector<std::pair<std::string, std::string>> kinds;
  std::vector<std::string> names, pages;
  for (const ExportKind& kind : export_kinds()) {
    const std::vector<std::string> own = kind.pages_of_a_plan();
    kinds.emplace_back(kind.name,
                       own.empty() ? kind.what : fmt::format("{}; `--page` {}", kind.what, fmt::join(own, ", ")));
    names.push_back(kind.name);
    for (const std::string& page : own)
      if (std::ranges::find(pages, page) == pages.end()) pages.push_back(page);
  }
  for (const ExportKind& kind : strategy_kinds()) {
    kinds.emplace_back(kind.name, kind.what);
    names.push_back(kind.name);
  }
  help.paragraph(
          "FILE is a run file, whose plan is written, or the folder of a recorded run. OUT is written whole or not at "
          "all, exactly as named; what exists is refused without `--force`. Long exports show their progress on a "
          "terminal; Ctrl-C leaves nothing behind.")
      .paragraph(
          "Of a recorded run, pictures and the tables `collectives` and `timeline` show what was measured in the step "
          "that `--trace` chooses. Pictures have all content of their page (tables with every row and column) and no "
          "buttons, fields and hints; `run` is the curves of a recorded run, `compare` all meshes of as many devices. "
          "`shardscope` beside `shardrun` draws them, without a display.")
      .paragraph(
          "`jax` is a standalone program of JAX and Optax that trains the same, from the same seeds with the "
          "same "
          "losses; what JAX cannot express, a pipeline for example, is an error at its place. `headless` is a folder "
          "that "
          "trains the plan elsewhere: run file, machine, small data, and a script each for one machine and for plain "
          "mpirun; `slurm` the same with a script for sbatch, whose jobs are queued again where they run out of time "
          "or "
          "lose a node, and continue from their checkpoints. Their scripts first verify version and plan hash, as "
          "`--check` does.")
      .table("Kinds of export", kinds)
      .values("--to", names)
      .values("--page", pages)
      .example("shardrun export run.json --to csv collectives.csv --page collectives", "every collective, as a table")
      .example("shardrun export record --to perfetto trace.json --trace slowest",
               "the slowest step of a recorded run, for ui.perfetto.dev")
      .example("shardrun export run.json --to jax program.py", "the run as a program of JAX");
}

}  // namespace

void add_export(CLI::App& app, CommandLine& line) {
  CLI::App* command =
      app.add_subcommand("export", "Write a plan or a recorded run as a table, picture, trace, program or folder");
  auto arguments = std::make_shared<ExportArguments>();
  arguments->run_file.add_to(*command, false);
  command->add_option("OUT", arguments->out, "file or folder to write; - for standard output")->transform(output_name);
  command->add_option("--to", arguments->kind, "what to write, see below")->type_name("KIND");
  command->add_option("--page", arguments->page, "which picture or table")->type_name("PAGE");
  command
      ->add_option("--trace", arguments->trace,
                   "which measured step of a recorded run: latest, slowest, or the median one (median)")
      ->check(CLI::IsMember({"latest", "slowest", "median"}));
  command
      ->add_option("--size", arguments->size,
                   "of a picture the least size in pixels (1280x800); it is larger where its content needs that")
      ->type_name("WIDTHxHEIGHT")
      ->check([](const std::string& text) { return picture_size(text) ? std::string() : picture_size_rule(); });
  command->add_flag("--force", arguments->force, "write over what exists; in a folder the files that the export has");
  arguments->machine.add_to(*command);
  arguments->hosts.add_list_to(*command);
  command
      ->add_option("--check", arguments->check,
                   "verify a folder of kind headless or slurm: that this program makes the plan that was exported")
      ->type_name("FOLDER");
  describe_export(line.help(command));
  command->callback([&line, arguments] { line.action = [arguments] { return export_command(*arguments); }; });
}

}  // namespace shardscope
