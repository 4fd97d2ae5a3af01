// parameter_fingerprints FILE STEPS [PATH=VALUE ...]: trains a run file with its ranks as threads of this process and
// prints, as JSON, what bench/accuracy_table compares with tests/golden/parallax_decoder.json: of every parameter
// before the first step the first four elements, the last, sum, sum of squares and sum of magnitudes; after the last
// step norm and largest magnitude.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/base/number_text.h"
#include "engine/compile/compile.h"
#include "engine/compile/settings.h"
#include "engine/config/parse.h"
#include "engine/machine/host_machine.h"
#include "tests/training/thread_training.h"

namespace {

using namespace shardscope;

struct Sums {
  double plain = 0, squares = 0, magnitudes = 0, largest = 0;
};

Sums sums(const std::vector<float>& values) {
  Sums result;
  for (double value : values) {
    result.plain += value;
    result.squares += value * value;
    result.magnitudes += std::abs(value);
    result.largest = std::max(result.largest, std::abs(value));
  }
  return result;
}

nlohmann::json fingerprints(const RunConfig& config, int64_t steps) {
  const Plan plan = compile({config, reference_host()});
  nlohmann::json initial, final;
  for (const auto& [name, values] : train_in_threads(plan, 0).parameters) {
    const Sums s = sums(values);
    const std::vector<float> first(values.begin(), values.begin() + std::min<std::ptrdiff_t>(4, std::ssize(values)));
    initial[name] = {{"first", first},
                     {"last", values.back()},
                     {"sum", s.plain},
                     {"sumsq", s.squares},
                     {"magnitudes", s.magnitudes}};
  }
  for (const auto& [name, values] : train_in_threads(plan, steps).parameters) {
    const Sums s = sums(values);
    final[name] = {{"norm", std::sqrt(s.squares)}, {"largest", s.largest}};
  }
  return {{"initial", initial}, {"final", final}};
}

int64_t parse_steps(const char* text) {
  const auto steps = number_of<int64_t>(text);
  if (!steps || *steps < 1) {
    throw Failure({"bad_argument", fmt::format("'{}' is not a number of steps", text), "STEPS", "a number from 1"});
  }
  return *steps;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: parameter_fingerprints FILE STEPS [PATH=VALUE ...]\n");
    return 2;
  }
  try {
    const RunConfig config = load_run_config(argv[1]);
    const int64_t steps = parse_steps(argv[2]);
    fmt::print("{}\n", fingerprints(with_settings(config, {argv + 3, argv + argc}), steps).dump());
    return 0;
  } catch (const shardscope::Failure& failure) {
    fmt::print(stderr, "{}\n", failure.what());
    return 2;
  }
}
