#pragma once

#include <set>
#include <string>
#include <string_view>

#include "engine/base/options.h"
#include "engine/mesh/partition_spec.h"

namespace shardscope {

// A template of Python lines as the program has it. Marks in a line's end, any number of them, are taken off:
//
//   #? FLAG      the line stands where the flag is set
//   #! FLAG      where it is not
std::string jax_lines(std::string_view source, const std::set<std::string_view>& flags);

// A line, which has what is inside of its widest bracket on lines of its own where it is too long.
std::string python_lines(const std::string& line);
inline constexpr size_t longest_python_line = 110;

// P("data", None, ("data", "model"))
std::string python_spec(const PartitionSpec& spec);
// Every `from` in the text is `to`; what was put in is not looked at again.
void replace(std::string& text, std::string_view from, const std::string& to);
std::string python_text(std::string_view text);     // "text", with escapes
std::string python_escaped(std::string_view text);  // the same without the quotes: within a literal, or a docstring
// f"before{variable}behind"
std::string python_format(std::string_view before, std::string_view variable, std::string_view behind);
// Numbers as short as Python reads them back; lists in brackets.
std::string python_value(const OptionValue& value);

}  // namespace shardscope
