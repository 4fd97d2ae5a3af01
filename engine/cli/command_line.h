#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "engine/cli/reference/command_reference.h"

namespace shardscope {

// exit_by_signal + the signal: 130 after Ctrl-C, 143 after SIGTERM.
inline constexpr int exit_ok = 0, exit_failed_run = 1, exit_bad_input = 2, exit_by_signal = 128;

// What main was called with, and what the subcommand found in it will do. The action returns the exit code, or throws
// Failure for bad input.
struct CommandLine {
  int argc = 0;
  char** argv = nullptr;
  std::string commit = {};  // of the sources; empty: not known
  std::function<int()> action = {};
  HelpTexts texts = {};

  HelpText& help(const CLI::App* command) { return texts[command]; }
};

// Each adds its subcommand, in the file of its name.
void add_validate(CLI::App& app, CommandLine& line);
void add_show(CLI::App& app, CommandLine& line);
void add_new(CLI::App& app, CommandLine& line);
void add_expand(CLI::App& app, CommandLine& line);
void add_import_strategy(CLI::App& app, CommandLine& line);
void add_upgrade(CLI::App& app, CommandLine& line);
void add_plan(CLI::App& app, CommandLine& line);
void add_train(CLI::App& app, CommandLine& line);
void add_calibrate(CLI::App& app, CommandLine& line);
void add_machines(CLI::App& app, CommandLine& line);
void add_models(CLI::App& app, CommandLine& line);
void add_completion(CLI::App& app, CommandLine& line);
void add_man(CLI::App& app, CommandLine& line);
void add_documents(CLI::App& app, CommandLine& line);
void add_export(CLI::App& app, CommandLine& line);
void add_suggest(CLI::App& app, CommandLine& line);
void add_diff(CLI::App& app, CommandLine& line);
void add_search(CLI::App& app, CommandLine& line);
void add_lint(CLI::App& app, CommandLine& line);
void add_checkpoint(CLI::App& app, CommandLine& line);
void add_rank(CLI::App& app, CommandLine& line);
void add_host_agent(CLI::App& app, CommandLine& line);
void add_remote_shell(CLI::App& app, CommandLine& line);

// All commands, from their definitions.
CommandReference command_reference();

// shardrun. Errors go to standard error, one a line. Output that cannot be written is a failed run; a closed pipe ends
// the process, as it does others, unless SIGPIPE is ignored.
int run_command_line(int argc, char** argv);
// `commit`: of the sources, for --version; empty: not known.
int run_command_line(int argc, char** argv, const std::string& commit);

}  // namespace shardscope
