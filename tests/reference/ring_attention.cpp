#include "engine/ops/ring_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/ops/zigzag.h"
#include "tests/reference/named_reference.h"

namespace shardscope::reference {

namespace {

constexpr double lowest = std::numeric_limits<float>::lowest();

// Where the chunks of 2n go: 0, 2n-1, 1, 2n-2, ...
std::vector<int64_t> positions(int64_t blocks, int64_t length) {
  const int64_t size = length / blocks / 2;
  std::vector<int64_t> all;
  for (int64_t block = 0; block < blocks; ++block) {
    for (int64_t chunk : {block, 2 * blocks - 1 - block}) {
      for (int64_t i = 0; i < size; ++i) all.push_back(chunk * size + i);
    }
  }
  return all;
}

Results zigzag(const Call& call) {
  const auto& a = call.attributes.as<ZigzagAttributes>();
  const Shape& shape = call.shape(0);
  int64_t inner = 1;
  for (size_t d = static_cast<size_t>(a.dimension) + 1; d < shape.size(); ++d) inner *= shape[d];
  const int64_t length = shape[static_cast<size_t>(a.dimension)];
  const std::vector<int64_t> order = positions(a.blocks, length);
  Values y(call.values(0).size());
  for (int64_t i = 0; i < y.size(); ++i) {
    const int64_t index = i / inner % length, position = order[static_cast<size_t>(index)];
    const int64_t there = i + (position - index) * inner;
    if (a.back) y[there] = call.values(0)[i];
    else y[i] = call.values(0)[there];
  }
  return {y};
}

Results roll(const Call& call) {
  const auto& a = call.attributes.as<RollAttributes>();
  const int64_t row = call.values(0).size() / call.shape(0)[0], shift = row / a.blocks * a.shift;
  Values y = Values::Zero(call.values(0).size());
  for (int64_t i = 0; i < y.size(); ++i) {
    const int64_t to = ((i + shift) % row + row) % row;
    const bool receives = a.receivers.empty() || std::ranges::count(a.receivers, to / (row / a.blocks)) > 0;
    if (receives) y[i / row * row + to] = call.values(0)[i];
  }
  return {y};
}

// Of each block the first half, then the second.
template <class Visit>
void for_each_in_halves(const Call& call, int64_t size, Visit visit) {
  const int64_t blocks = call.attributes.as<BlockAttributes>().blocks, batch = call.shape(0)[0];
  const int64_t half = size / batch / blocks / 2;
  for (int64_t i = 0; i < size; ++i) visit(i, i / half % 2, i / half / 2 * half + i % half);
}

Results block_halves(const Call& call) {
  const Values& x = call.values(0);
  Results halves{Values(x.size() / 2), Values(x.size() / 2)};
  for_each_in_halves(call, x.size(),
                     [&](int64_t i, int64_t half, int64_t at) { halves[static_cast<size_t>(half)][at] = x[i]; });
  return halves;
}

Results join_halves(const Call& call) {
  Values y(2 * call.values(0).size());
  for_each_in_halves(call, y.size(),
                     [&](int64_t i, int64_t half, int64_t at) { y[i] = call.values(static_cast<size_t>(half))[at]; });
  return {y};
}

// Calls visit for every pair of a query and a key that the query may see, with offsets of their heads' elements, the
// index of the query's log-sum-exp, the score and its slope by the product.
template <class Visit>
void for_each_pair(const Call& call, Visit visit) {
  const auto& a = call.attributes.as<RingAttributes>();
  const Shape &query = call.shape(0), &key = call.shape(1);
  const int64_t s = query[1], heads = query[2], d = query[3], size = s / a.blocks, group = heads / key[2],
                of_block = key[1] / a.blocks;
  const std::vector<int64_t> order = positions(a.blocks, s);
  const double scale = a.attention.scale > 0 ? a.attention.scale : 1 / std::sqrt(static_cast<double>(d));
  for (int64_t b = 0; b < query[0]; ++b) {
    for (int64_t h = 0; h < heads; ++h) {
      for (int64_t q = 0; q < s; ++q) {
        const int64_t block = q / size;
        for (int64_t i = 0; i < of_block; ++i) {
          const int64_t k = block * of_block + i;  // where the key is, and where it was in whole blocks
          const int64_t from = ((block - a.step) * size + std::max<int64_t>(a.half, 0) * of_block + i + s) % s;
          const int64_t behind = order[static_cast<size_t>(q)] - order[static_cast<size_t>(from)];
          if (behind < 0 || (a.attention.window > 0 && behind >= a.attention.window)) continue;
          const int64_t of_query = ((b * s + q) * heads + h) * d, of_key = ((b * key[1] + k) * key[2] + h / group) * d;
          double score = scale * (call.values(0).segment(of_query, d) * call.values(1).segment(of_key, d)).sum(),
                 slope = scale;
          if (a.attention.soft_cap > 0) {
            const double tanh = std::tanh(score / a.attention.soft_cap);
            score = a.attention.soft_cap * tanh;
            slope *= 1 - tanh * tanh;
          }
          if (!a.attention.slopes.empty()) {
            score -= static_cast<double>(a.attention.slopes[static_cast<size_t>(h)]) * static_cast<double>(behind);
          }
          visit(of_query, of_key, (b * heads + h) * s + q, score, slope);
        }
      }
    }
  }
}

Results attention_block(const Call& call) {
  const int64_t d = call.shape(0)[3];
  Values context = Values::Zero(call.values(0).size()), sums = Values::Zero(context.size() / d);
  for_each_pair(call, [&](int64_t query, int64_t key, int64_t row, double score, double) {
    context.segment(query, d) += std::exp(score) * call.values(2).segment(key, d);
    sums[row] += std::exp(score);
  });
  Values lse = (sums > 0).select(sums.max(1e-300).log(), lowest);
  const Shape& shape = call.shape(0);
  for (int64_t row = 0; row < sums.size(); ++row) {
    const int64_t q = row % shape[1], bh = row / shape[1], b = bh / shape[2], h = bh % shape[2];
    if (sums[row] > 0) context.segment(((b * shape[1] + q) * shape[2] + h) * d, d) /= sums[row];
  }
  return {context, lse};
}

Results attention_block_grad(const Call& call) {
  const int64_t d = call.shape(0)[3];
  Values dquery = Values::Zero(call.values(0).size()), dkey = Values::Zero(call.values(1).size()), dvalue = dkey;
  for_each_pair(call, [&](int64_t query, int64_t key, int64_t row, double score, double slope) {
    const double weight = std::exp(score - call.values(4)[row]);
    const auto dcontext = call.values(5).segment(query, d);
    double dscore = (dcontext * (call.values(2).segment(key, d) - call.values(3).segment(query, d))).sum();
    if (call.operands.size() > 6) dscore += call.values(6)[row];
    dquery.segment(query, d) += weight * dscore * slope * call.values(1).segment(key, d);
    dkey.segment(key, d) += weight * dscore * slope * call.values(0).segment(query, d);
    dvalue.segment(key, d) += weight * dcontext;
  });
  return {dquery, dkey, dvalue};
}

Results merge_attention(const Call& call) {
  const Shape& shape = call.shape(0);
  const int64_t d = shape[3];
  Values context(call.values(0).size()), lse(call.values(1).size());
  for (int64_t row = 0; row < lse.size(); ++row) {
    const int64_t q = row % shape[1], bh = row / shape[1], b = bh / shape[2], h = bh % shape[2];
    const int64_t at = ((b * shape[1] + q) * shape[2] + h) * d;
    const double top = std::max(call.values(1)[row], call.values(3)[row]);
    const double one = std::exp(call.values(1)[row] - top), other = std::exp(call.values(3)[row] - top);
    context.segment(at, d) =
        (one * call.values(0).segment(at, d) + other * call.values(2).segment(at, d)) / (one + other);
    lse[row] = top + std::log(one + other);
  }
  return {context, lse};
}

Results ring_attention(const Call& call) { return {call.values(3), call.values(4)}; }

}  // namespace

std::vector<NamedReference> ring_attention_references() {
  return {{"zigzag", zigzag},
          {"roll", roll},
          {"block_halves", block_halves},
          {"join_halves", join_halves},
          {"attention_block", attention_block},
          {"attention_block_grad", attention_block_grad},
          {"merge_attention", merge_attention},
          {"ring_attention", ring_attention}};
}

}  // namespace shardscope::reference
