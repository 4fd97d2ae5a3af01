#pragma once

#include <string>

namespace shardscope {

// The words of `text` in lines of at most `width` characters, each behind `indent` spaces; the first without, where its
// beginning stands there already. No newline at the end.
std::string wrapped(const std::string& text, size_t indent, size_t width);

// The text with each `code` between backquotes between these marks instead.
std::string with_code_marks(const std::string& text, const std::string& open, const std::string& close);

}  // namespace shardscope
