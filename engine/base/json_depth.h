#pragma once

#include <string_view>

namespace shardscope {

// True where arrays and objects of a JSON text are nested deeper than 64 levels. No text of ours is; what copies or
// prints such a value calls itself once a level, until the stack ends.
bool is_nested_deeply(std::string_view json);

}  // namespace shardscope
