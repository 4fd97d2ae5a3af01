#pragma once

#include <string>
#include <vector>

namespace shardscope {

// What of a run file decides the numbers that training computes, and is not what it was: the seed, the options of
// model, data and optimizer (with the defaults of those that are not given), the types that `precision` and the model's
// compute_dtype mean, the number of microbatches and `deterministic`. One line each, by path:
//   optimizer.learning_rate: 0.001 -> 0.002
//   optimizer.name: "adam" -> "sgd"
//   optimizer.momentum: none -> 0.9
// Mesh, sharding and pipeline change these by rounding alone and are not compared, nor is the number of steps; files of
// data are, by their paths, where `with_data_paths`. Both are the texts of run files; throws Failure where one is none.
std::vector<std::string> changed_settings(const std::string& before, const std::string& now, bool with_data_paths);

// The same of two texts of a model's config.json, without the run file's overrides:
//   config.json rope_theta: 500000 -> 10000
std::vector<std::string> changed_description(const std::string& before, const std::string& now);

// A value of a JSON text; a whole number in place of a real one says the same: of "8.0" it is "8".
std::string without_fraction(const std::string& value);

}  // namespace shardscope
