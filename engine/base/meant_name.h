#pragma once

#include <string>
#include <vector>

namespace shardscope {

// The one of `names` that is meant by one of `given`: itself, else the nearest that is not given; empty where none is
// near. Of "stratgy" among "mesh", "strategy" it is "strategy".
std::string meant_name(const std::string& name, const std::vector<std::string>& names,
                       const std::vector<std::string>& given);

}  // namespace shardscope
