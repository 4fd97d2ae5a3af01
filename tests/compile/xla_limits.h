#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "tests/parity/golden_file.h"

namespace shardscope::test {

// What XLA's program of a preset's peer in JAX takes of each device (tests/golden/xla.json, which bench/golden/generate
// makes).
struct XlaLimits {
  double wire_bytes = 0;    // sent in a step, by the ring convention
  double memory_bytes = 0;  // arguments and temporary arrays
};

inline XlaLimits xla_limits(const std::string& preset, const std::vector<int64_t>& mesh) {
  QJsonArray sizes;
  for (const int64_t size : mesh) sizes.append(static_cast<qint64>(size));
  for (const QJsonValue& one : golden_file("xla").array()) {
    if (one["preset"].toString().toStdString() != preset || one["mesh"].toArray() != sizes) continue;
    const QJsonValue memory = one["memory"];
    return {one["wire_bytes_per_device"].toDouble(-1),
            memory["argument_size_in_bytes"].toDouble() + memory["temp_size_in_bytes"].toDouble()};
  }
  throw std::out_of_range("tests/golden/xla.json has no such run of " + preset);
}

}  // namespace shardscope::test
