#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/reduction.h"
#include "engine/base/shape.h"

namespace shardscope {

// The dimensions of an op as factors, after Shardy (openxla/shardy, "sharding representation"). Each dimension of each
// operand and result is a short list of factors, major to minor; nearly always just one. Splitting a factor over
// devices means: operands and results that have it are split along that dimension; operands that lack it are whole on
// each device; results that lack it are partial: unfinished sums, or maxima where the op says so.
//
// Example: einsum "ik,kj->ij" has factors i, k, j; splitting i or j needs no communication, splitting k leaves the
// result a partial sum. Splitting heads, "bs(hd)->bshd", has factors b, s, h, d, and its operand's last dimension is
// (h, d): an axis on h splits that dimension too, into whole heads; d can be split only when h is split down to single
// heads, since shards are contiguous.
struct Factor {
  char label = '?';  // distinct within the op; shared by an op and its gradient
  int64_t size = 1;
  bool splittable = true;  // false: each device needs the whole dimension
  // Index i of the result is index i - ring of the operand, which passes nothing else through. Split into single
  // indices or not at all: then devices send what they have to the next but ring - 1 of them.
  int64_t ring = 0;
  bool operator==(const Factor&) const = default;
};

using DimensionFactors = std::vector<int>;  // indices into FactorRule::factors, major to minor

struct FactorRule {
  static constexpr int max_factors = 12;

  std::vector<Factor> factors;
  std::vector<std::vector<DimensionFactors>> operands;  // per operand, per dimension
  std::vector<std::vector<DimensionFactors>> results;
  std::vector<Reduction> reductions;  // per result: how its parts combine where a split factor is not in it
  bool linear = false;                // jointly linear: partial sums of all operands give a partial sum of every result
};

// The dimensions of an op in letters: one string for each operand and result, one letter a factor, parentheses round
// the factors of one dimension: "bs(hd)". A letter is a factor of that name wherever it occurs.
struct Labels {
  std::vector<std::string> operands;
  std::vector<std::string> results;
  std::string whole;  // letters that cannot be split
  bool linear = false;
  std::vector<Reduction> reductions = {};            // per result; empty: all are sums
  std::vector<std::pair<char, int64_t>> sizes = {};  // of letters that the operands leave open
  std::vector<std::pair<char, int64_t>> rings = {};  // of letters that go round
};

// The one place where letters get sizes: from the operands' shapes and `sizes`; a letter in parentheses is what the
// dimension leaves of the others. Throws Failure where the letters do not fit the shapes (rank, shape, repeated_label),
// a size is not known (equation), or there are too many letters (factor_count).
FactorRule make_rule(const Labels& labels, std::span<const TensorType> operands);

// The letters of each dimension: "bs(hd)" -> "b", "s", "hd". Throws Failure (code equation) for a bracket that has no
// partner.
std::vector<std::string> dimension_labels(const std::string& text);

// The whole size of a dimension, and the shape of a result.
int64_t dimension_size(const FactorRule& rule, const DimensionFactors& dimension);
Shape result_shape(const FactorRule& rule, int result);

}  // namespace shardscope
