#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/cli/reference/command_reference.h"

namespace shardscope {

// What --help prints: lines of at most 100 characters.
std::string help_page(const CommandReference& command);

// docs/commands.md: all commands, each a chapter with its options as a table.
std::string commands_document(const CommandReference& program);

struct ManPage {
  std::string name;  // "shardrun-checkpoint-list"
  std::string text;  // in roff, with man macros; section 1
};

// The program's page and one for each command, with the date left out, so that equal programs have equal pages.
std::vector<ManPage> man_pages(const CommandReference& program, const std::string& version);

// A shell that can complete commands, options and their values, and what it reads to do so.
struct Shell {
  std::string name;
  std::string file;  // where distributions keep it, below the prefix
  std::string (*completion)(const CommandReference& program);
};

std::span<const Shell> all_shells();

std::string bash_completion(const CommandReference& program);
std::string zsh_completion(const CommandReference& program);
std::string fish_completion(const CommandReference& program);

}  // namespace shardscope
