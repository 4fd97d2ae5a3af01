#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/export/jax_arrays.h"

namespace shardscope {

// A template of Python lines as the program has it. Marks in a line's end, any number of them, are taken off:
//
//   #? FLAG      the line stands where the flag is set
//   #! FLAG      where it is not
//   #@ PATTERN   the line assigns a variable, the activations of these names (in an array of layers there are several):
//                where they are pinned, `VARIABLE = constrain(VARIABLE, P(...))` follows
//
// Tells, line by line, how much of it is done. Throws Failure (not_exportable) where activations of one line are pinned
// differently, or one is pinned that no line makes, at the place in the run file that pins it.
std::string jax_source(
    std::string_view source, const std::set<std::string_view>& flags, const JaxArrays& arrays,
    const std::function<void(double share)>& tell = [](double) {});
// The same of text that makes no activations.
std::string jax_lines(std::string_view source, const std::set<std::string_view>& flags);

// P("data", None, ("data", "model"))
std::string python_spec(const PartitionSpec& spec);
// Every `from` in the text is `to`; what was put in is not looked at again.
void replace(std::string& text, std::string_view from, const std::string& to);
std::string python_text(std::string_view text);  // "text", with escapes
// Numbers as short as Python reads them back; lists in brackets.
std::string python_value(const OptionValue& value);

}  // namespace shardscope
