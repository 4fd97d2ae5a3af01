#pragma once

#include <string>
#include <vector>

#include "gui/document/edits.h"

namespace shardscope {

// A hyperparameter as a form has it.
struct ShownOption {
  std::string name;
  OptionValue value;  // the file's, or its default
  std::string help = {};
  std::vector<std::string> choices = {};  // of text; empty: anything
};

// What there is, whether or not the file names it, in one order; then what the file has besides.
std::vector<ShownOption> shown_options(const RunConfig& config, OptionGroup which);

}  // namespace shardscope
