#pragma once

#include <string>
#include <string_view>

namespace shardscope {

// Text of a file or a process as it may be shown on a terminal, on one line: control characters, those that turn the
// direction of writing and line separators are written as JSON does ("\n", "\u001b", "\u202e"), bytes that are no
// UTF-8 as "\xff"; all else stays. JSON stays the same JSON.
std::string printable(std::string_view text);

// The same for a text of lines: newlines stay.
std::string printable_lines(std::string_view text);

// The first `count` characters of a text in UTF-8; all of it where it has no more.
std::string_view first_characters(std::string_view text, size_t count);

}  // namespace shardscope
