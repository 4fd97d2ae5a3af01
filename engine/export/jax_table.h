#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardscope {

// A row of a Python dict whose values are tuples, the last element of which is a number or is left out.
struct JaxRow {
  std::string name;   // "params/blocks/0/linear1/kernel"
  std::string value;  // "uniform, (256, 1024), 0.1"; may be empty
  std::optional<int64_t> number;
};

// NAME = {...}, where rows of layers that are alike are made in a loop over the layers.
std::string jax_table(const std::string& name, const std::vector<JaxRow>& rows);

}  // namespace shardscope
