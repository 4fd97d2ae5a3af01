#include "engine/cli/usage_errors.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardscope {

namespace {

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); }))
    names.push_back(command->get_name());
  return names;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

// "shardrun checkpoint list"
std::string whole_name(const CLI::App& app) {
  return (app.get_parent() ? whole_name(*app.get_parent()) + " " : "") + app.get_name();
}

// Without what follows it: "--page=x", and of short options all but the first.
std::string option_of(const std::string& word) {
  return word.starts_with("--") ? word.substr(0, word.find('=')) : word.substr(0, 2);
}

}  // namespace

std::optional<Error> unknown_word(const CLI::App& app) {
  const CLI::App* asked = &app;
  while (!asked->get_subcommands().empty()) asked = asked->get_subcommands().front();
  const std::vector<std::string> left = asked->remaining();
  if (left.empty()) return {};
  const Place place = at_argument(asked->get_name());
  const auto option = std::ranges::find_if(left, [](const std::string& word) { return word.starts_with('-'); });
  if (option != left.end()) {
    const std::string name = option_of(*option);
    const std::vector<std::string> known = option_names(*asked);
    const bool is_near = !near_names(name, known).empty();
    return Error{"option", fmt::format("there is no option '{}'", name), place,
                 is_near ? name_hint(name, known) : fmt::format("'{} --help' lists all", whole_name(*asked))};
  }
  if (asked->get_require_subcommand_min() > 0)
    return Error{"command", fmt::format("there is no command '{}'", left.front()), place,
                 name_hint(left.front(), command_names(*asked))};
  return Error{"argument", fmt::format("'{}' is one argument too many", left.front()), place,
               fmt::format("'{} --help' lists all", whole_name(*asked))};
}

}  // namespace shardscope
