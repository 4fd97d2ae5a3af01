#pragma once

#include <cstddef>
#include <string_view>

namespace shardscope {

// About how many bytes a JSON text takes once it is parsed, at most: a text of "0,0,0" takes sixteen times its own
// length. One pass over the text, which need not be well-formed; for a limit on what is accepted from others.
size_t json_memory(std::string_view json);

}  // namespace shardscope
