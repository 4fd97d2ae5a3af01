#pragma once

#include "engine/cli/reference/command_reference.h"

namespace shardscope {

// Calls it with the program and every command within, each before its own commands.
template <class Function>
void for_each_command(const CommandReference& command, const Function& call) {
  call(command);
  for (const CommandReference& inner : command.commands) for_each_command(inner, call);
}

// By the word that comes last: "list" of "checkpoint list".
inline std::string last_word(const std::string& name) { return name.substr(name.rfind(' ') + 1); }
// What comes before: "checkpoint" of "checkpoint list", nothing of "train".
inline std::string outer_command(const std::string& name) {
  const size_t space = name.rfind(' ');
  return space == std::string::npos ? "" : name.substr(0, space);
}

}  // namespace shardscope
