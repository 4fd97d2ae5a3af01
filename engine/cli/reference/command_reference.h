#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

#include "engine/cli/reference/help_text.h"

namespace shardscope {

// An option, flag or positional argument of a command.
struct OptionReference {
  std::vector<std::string> names;  // long ones first: "--quiet", "-q"; of a positional argument its one name, "FILE"
  bool is_positional = false, is_required = false, is_repeatable = false;
  std::string value;                 // placeholder of its value, "DIR"; empty of a flag
  std::string limits;                // "1 to 65536", "positive"; empty: none
  std::vector<std::string> choices;  // all legal values where there are few
  std::vector<std::string> offered;  // values that a shell offers: the choices, or what the help text names
  std::string environment;           // the variable that stands for it; empty: none
  std::string help;

  bool takes_file() const, takes_folder() const;
  // "--checkpoint DIR", "--on-checkpoint-error stop|continue", "FILE", "-q, --quiet".
  std::string spelling() const;
};

// A command as its definition says it: what help, documents, man pages and completion are made of.
struct CommandReference {
  std::string name;     // "checkpoint list"; of the program itself "shardrun"
  std::string program;  // "shardrun"
  std::string summary;
  std::vector<OptionReference> options;
  HelpText help;
  std::vector<CommandReference> commands;

  bool is_program() const { return name == program; }
  std::string call() const { return is_program() ? program : program + " " + name; }  // "shardrun checkpoint list"
  // "shardrun show [FILE] [PARAM] [options]".
  std::string usage() const;
};

using HelpTexts = std::map<const CLI::App*, HelpText>;

// The program, or one of its commands, with all commands within but hidden ones (of group "").
CommandReference read_command(const CLI::App& app, const HelpTexts& texts);

}  // namespace shardscope
