#include "engine/cli/command_line.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <sstream>

#include "engine/base/error.h"
#include "engine/base/standard_streams.h"
#include "engine/base/version.h"
#include "engine/cli/usage_errors.h"

namespace shardscope {
namespace {

// Of every command that people call, and of those that the program calls for them.
void add_quiet(CLI::App& app, bool& quiet) {
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_require_subcommand_min() > 0) add_quiet(*command, quiet);
    else if (!command->get_prefix_command())
      command->add_flag("-q,--quiet", quiet, "say nothing but errors and what was asked for");
  }
}

int run_command(int argc, char** argv) {
  CLI::App app("Plans how a neural network is split over a device mesh, and trains that plan on MPI ranks.",
               "shardrun");
  CommandLine line{argc, argv, {}};
  app.set_version_flag("--version", std::string("shardrun ") + version);
  app.require_subcommand(1);
  add_validate(app, line);
  add_show(app, line);
  add_plan(app, line);
  add_train(app, line);
  add_export(app, line);
  add_suggest(app, line);
  add_lint(app, line);
  add_new(app, line);
  add_checkpoint(app, line);
  add_calibrate(app, line);
  add_machines(app, line);
  add_rank(app, line);
  add_host_agent(app, line);
  add_remote_shell(app, line);
  bool quiet = false;
  add_quiet(app, quiet);
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
  if (quiet) be_quiet();
  try {
    return line.action();
  } catch (const Failure& failure) {
    for (const Error& error : failure.errors()) say(to_string(error));
    return exit_bad_input;
  } catch (const std::exception& error) {
    say(error.what());
    return exit_failed_run;
  }
}

}  // namespace

int run_command_line(int argc, char** argv) {
  set_up_process();
  const int code = run_command(argc, argv);
  if (flush_lines()) return code;
  say(fmt::format("standard output: cannot write: {}", std::strerror(errno)));
  return code == exit_ok ? exit_failed_run : code;
}

}  // namespace shardscope
