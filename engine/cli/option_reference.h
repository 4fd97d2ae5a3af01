#pragma once

#include <string>
#include <vector>

#include "engine/base/options.h"

namespace shardscope {

// What a run file may name in one section, with its options.
struct OptionOwner {
  std::string section;  // "model", "data" or "optimizer"
  std::string name, summary;
  const std::vector<OptionDefinition>* options;
};

// All models, data kinds and optimizers, in the order of their registries.
std::vector<OptionOwner> option_owners();

// The names and summaries of all, by section.
std::string option_owners_text();
// One with its options: type and range, default, meaning.
std::string option_owner_text(const OptionOwner& owner);
// {"model": [{"name", "summary", "options": [{"name", "type", "minimum", "maximum", "choices", "required", "default",
// "help"}]}], "data": ..., "optimizer": ...}: of a number its range, of text its choices where it has some.
std::string option_owners_json(const std::vector<OptionOwner>& owners);

// docs/run-file.md with the table of each owner's chapter ("#### NAME") written anew. A table is the lines from
// "| option |" on; text before it stays. Throws Failure (no_chapter) where one has no chapter or no table.
std::string with_option_tables(const std::string& document);

}  // namespace shardscope
