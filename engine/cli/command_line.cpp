#include "engine/cli/command_line.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <sstream>

#include "engine/base/error.h"
#include "engine/base/standard_streams.h"
#include "engine/cli/reference/formats.h"
#include "engine/cli/usage_errors.h"
#include "engine/cli/version_text.h"

namespace shardscope {
namespace {

// Of every command that people call, and of those that the program calls for them.
void add_quiet(CLI::App& app, bool& quiet) {
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_require_subcommand_min() > 0) add_quiet(*command, quiet);
    else if (!command->get_prefix_command())
      command->add_flag("-q,--quiet", quiet, "print only errors and what was asked for");
  }
}

void describe_program(HelpText& help) {
  help.paragraph(
          "`./run shardrun` builds and runs it from the sources. `shardscope` beside it is the window; it can also "
          "draw "
          "pictures and train without a display (docs/guide.md).")
      .paragraph(
          "`-` is standard input where a file is read, and standard output where one is written. Ctrl-Z stops the "
          "ranks "
          "too, and `fg` continues them. Ctrl-C and SIGTERM end a run after its current step and its last checkpoint; "
          "a "
          "second one ends it at once. What `train` prints never makes the ranks wait for a slow or stopped reader: "
          "lines that the reader missed are counted and reported at the end, with code 1. Standard output that was "
          "closed from the start is treated as `/dev/null`.")
      .paragraph(
          "Without `--force` (or `--append` for `--jsonl`), no command writes over a file. With `--force`, `train` "
          "replaces what exists when the start has succeeded and the ranks begin (`--parameters` and `--predictions`: "
          "when the whole file is written). Until the run has ended with code 0 the former file is kept as `OUT.old`, "
          "and a former record in `DIR/old`; a run that fails names them. A `--jsonl` file may be rotated by renaming "
          "it; "
          "where it is removed or truncated during the run, the run ends with code 1.")
      .table("Exit codes",
             {{"0", "success"},
              {"1",
               "the run failed; also where standard output could not be written (a full disk), or output lines were "
               "lost"},
              {"2", "a wrong run file, argument or input"},
              {"128 + n",
               "signal n ended the run: 130 after Ctrl-C, 143 after SIGTERM, 129 where the terminal was closed (unless "
               "started by `nohup`), 141 where the reader of standard output went away, as after `| head -1`"}})
      .example("shardrun plan presets/parallax_decoder.json", "what a training step of a preset takes")
      .example("shardrun train presets/parallax_decoder.json --set mesh.data=2 --steps 20",
               "train it on another mesh, for twenty steps");
}

struct Commands {
  CLI::App app{"Plans how a neural network is split over a device mesh, and trains that plan on MPI ranks", "shardrun"};
  CommandLine line;
  bool quiet = false;

  Commands(int argc, char** argv, const std::string& commit) : line{argc, argv, commit} {
    app.formatter_fn([this](const CLI::App* asked, const std::string&, CLI::AppFormatMode) {
      return help_page(read_command(*asked, line.texts));
    });
    app.set_help_flag("-h,--help", "print this help and exit");
    app.set_version_flag(
        "--version", [commit] { return version_text(commit); }, "print version, commit, build and libraries, and exit");
    app.require_subcommand(1);
    describe_program(line.help(&app));
    for (const auto add :
         {add_validate, add_show,      add_plan,       add_train,      add_export,      add_suggest,
          add_search,   add_lint,      add_diff,       add_new,        add_expand,      add_import_strategy,
          add_upgrade,  add_models,    add_checkpoint, add_calibrate,  add_machines,    add_completion,
          add_man,      add_documents, add_rank,       add_host_agent, add_remote_shell})
      add(app, line);
    add_quiet(app, quiet);
  }
};

int run_command(int argc, char** argv, const std::string& commit) {
  Commands program(argc, argv, commit);
  CLI::App& app = program.app;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (const std::optional<Error> unknown = unknown_word(app)) {
      say(to_string(*unknown));
      return exit_bad_input;
    }
    std::ostringstream output, errors;
    const int code = app.exit(error, output, errors);
    print_lines(output.str());
    std::istringstream lines(errors.str());
    for (std::string text; std::getline(lines, text);) say(text);
    return code == 0 ? exit_ok : exit_bad_input;
  }
  if (program.quiet) be_quiet();
  try {
    return program.line.action();
  } catch (const Failure& failure) {
    for (const Error& error : failure.errors()) say(to_string(error));
    return exit_bad_input;
  } catch (const std::exception& error) {
    say(error.what());
    return exit_failed_run;
  }
}

}  // namespace

CommandReference command_reference() {
  const Commands program(0, nullptr, "");
  return read_command(program.app, program.line.texts);
}

int run_command_line(int argc, char** argv) { return run_command_line(argc, argv, ""); }

int run_command_line(int argc, char** argv, const std::string& commit) {
  set_up_process();
  const int code = run_command(argc, argv, commit);
  if (flush_lines()) return code;
  say(fmt::format("standard output: cannot write: {}", std::strerror(errno)));
  return code == exit_ok ? exit_failed_run : code;
}

}  // namespace shardscope
