#pragma once

#include <QString>
#include <vector>

#include "engine/base/error.h"

namespace shardscope {

// What is wrong with the path of a socket at which a run is to be watched, located; nothing where somebody answers.
std::vector<Error> socket_errors(const QString& path);

}  // namespace shardscope
