#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace shardscope::run_file {

// A key of an object, for faults.
struct Key {
  std::string name;
  bool required = true;
  std::string example;  // of its value, for hints
};

using Keys = std::vector<Key>;

// Of run files as this program writes them; a file without the key "version" is of version 1. What later versions
// changed:
//   2   sharding.mode "cheapest" is called "fastest"; the key "version"
inline constexpr int64_t current_version = 2;

const std::vector<std::string>& layout_modes();                    // in the order of LayoutMode
inline constexpr const char* this_stack = "shardscope";            // the software stack where none is named
inline constexpr const char* this_host = "host";                   // the machine where none is named
inline constexpr const char* former_name_of_fastest = "cheapest";  // is read, too
const std::vector<std::string>& spec_kinds();  // what "of" in a rule may say, in the order of SpecKind

// What schedule.rematerialise may say besides patterns, from what keeps most to what keeps least: "none" to "full".
const std::vector<std::string>& rematerialise_policies();

std::vector<std::string> names(const Keys& keys);

}  // namespace shardscope::run_file
