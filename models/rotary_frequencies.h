#pragma once

#include <cstdint>
#include <vector>

#include "engine/ops/rotary.h"

namespace shardscope {

// How the frequencies of a rotary embedding are made, as transformers' modeling_rope_utils.py does (version 5).
struct RotaryScaling {
  // standard: theta^(-2 i / size). linear: those divided by `factor`. dynamic: of a theta that grows with a sequence
  // longer than `positions`. llama3: long waves divided by `factor`, short ones as they are, with a ramp between. yarn:
  // likewise by rotations within `original_positions` (B. Peng et al., 2023). longrope: each divided by its own factor,
  // of `long_factors` for a sequence longer than `original_positions` (Y. Ding et al., 2024).
  enum class Kind : uint8_t { standard, linear, dynamic, llama3, yarn, longrope } kind = Kind::standard;
  double theta = 10000;
  int64_t size = 0;  // turned elements of a head: even
  double factor = 1;
  double low_frequency_factor = 1, high_frequency_factor = 4;  // llama3
  double beta_fast = 32, beta_slow = 1;                        // yarn
  bool truncate = true;                                        // yarn
  std::vector<double> short_factors, long_factors;             // longrope: one for each frequency
  int64_t original_positions = 0;                              // llama3, yarn, longrope
  int64_t positions = 0, sequence = 0;                         // the config's maximum, and that of the run
  double magnitude = 1;                                        // of cosines and sines
  double score_magnitude = 1;                                  // yarn, of mscale_all_dim: for those who scale scores
};

RotaryAttributes rotary_attributes(const RotaryScaling& scaling);

// yarn's magnitude for a factor: 0.1 scale ln(factor) + 1 of factors above 1.
double yarn_magnitude(double factor, double scale = 1);

}  // namespace shardscope
