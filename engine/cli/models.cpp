#include <algorithm>
#include <memory>

#include "engine/base/error.h"
#include "engine/base/standard_streams.h"
#include "engine/cli/command_line.h"
#include "engine/cli/option_reference.h"

namespace shardscope {

namespace {

std::vector<OptionOwner> owners_named(const std::string& name) {
  std::vector<OptionOwner> owners = option_owners();
  if (name.empty()) return owners;
  std::vector<std::string> names;
  for (const OptionOwner& owner : owners) names.push_back(owner.name);
  std::erase_if(owners, [&](const OptionOwner& owner) { return owner.name != name; });
  if (owners.empty())
    throw Failure(Error{"name", "no model, data kind or optimizer is called '" + name + "'", at_argument("models"),
                        name_hint(name, names)});
  return owners;
}

std::string text_of(const std::vector<OptionOwner>& owners) {
  std::string text;
  for (const OptionOwner& owner : owners) text += (text.empty() ? "" : "\n") + option_owner_text(owner);
  return text;
}

}  // namespace

void add_models(CLI::App& app, CommandLine& line) {
  struct Arguments {
    std::string name;
    bool as_json = false;
  };
  CLI::App* command = app.add_subcommand(
      "models", "The models, data kinds and optimizers that a run file may name, with their options");
  auto arguments = std::make_shared<Arguments>();
  command->add_option("NAME", arguments->name, "one of them: its options with types, ranges and defaults");
  command->add_flag("--json", arguments->as_json, "the same for scripts, with all options");
  std::vector<std::string> names;
  for (const OptionOwner& owner : option_owners()) names.push_back(owner.name);
  line.help(command)
      .values("NAME", names)
      .paragraph("docs/run-file.md has the same tables.")
      .example("shardrun models", "all names")
      .example("shardrun models adamw", "the options of one")
      .example("shardrun models --json | jq '.optimizer[].name'", "names of optimizers, for a script");
  command->callback([&line, arguments] {
    line.action = [arguments] {
      const std::vector<OptionOwner> owners = owners_named(arguments->name);
      print_lines(arguments->as_json        ? option_owners_json(owners)
                  : arguments->name.empty() ? option_owners_text()
                                            : text_of(owners));
      return exit_ok;
    };
  });
}

}  // namespace shardscope
