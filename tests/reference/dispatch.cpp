#include "engine/ops/dispatch.h"

#include "engine/ops/expert_load.h"

#include "tests/reference/named_reference.h"

namespace shardscope::reference {

namespace {

// Where a choice goes: row `row` of what block `q` of tokens sends to block `p` of experts.
struct Destination {
  int64_t q, p, row;
  bool fits;
};

int64_t expert_of(const Values& choices, int64_t slot) { return static_cast<int64_t>(choices[slot]); }

// Of every slot (b, s, k), by comparing it with all others.
std::vector<Destination> destinations(const DispatchAttributes& a, const Values& choices, const Shape& shape) {
  const int64_t batch = shape[0] / a.batch_blocks, length = shape[1] / a.length_blocks;
  const int64_t n = a.experts / a.expert_blocks;
  std::vector<Destination> all;
  for (int64_t slot = 0; slot < choices.size(); ++slot) {
    const int64_t token = slot / shape[2], b = token / shape[1], s = token % shape[1];
    all.push_back({s / length * a.batch_blocks + b / batch, expert_of(choices, slot) / n, 0, true});
  }
  const auto same = [&](size_t i, size_t j) { return all[i].q == all[j].q && all[i].p == all[j].p; };
  for (size_t i = 0; i < all.size(); ++i) {
    int64_t before = 0;
    for (size_t j = 0; j < i; ++j) before += same(i, j);
    all[i].fits = before < a.rows;
  }
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t j = 0; j < all.size(); ++j) {
      if (!same(i, j) || !all[j].fits) continue;
      const int64_t one = expert_of(choices, static_cast<int64_t>(j)),
                    own = expert_of(choices, static_cast<int64_t>(i));
      all[i].row += one < own || (one == own && j < i);
    }
  }
  return all;
}

Results expert_counts(const Call& call) {
  const auto& a = call.attributes.as<DispatchAttributes>();
  Values counts = Values::Zero(a.batch_blocks * a.length_blocks * a.experts), dropped = Values::Zero(1);
  const std::vector<Destination> all = destinations(a, call.values(0), call.shape(0));
  for (size_t slot = 0; slot < all.size(); ++slot) {
    if (all[slot].fits) {
      counts[all[slot].q * a.experts + expert_of(call.values(0), static_cast<int64_t>(slot))] += 1;
    } else {
      dropped[0] += 1;
    }
  }
  return {counts, dropped};
}

Results expert_load(const Call& call) {
  Values load = Values::Zero(call.attributes.as<ExpertLoadAttributes>().experts);
  for (int64_t slot = 0; slot < call.values(0).size(); ++slot) load[expert_of(call.values(0), slot)] += 1;
  return {load};
}

// The row of each slot in rows (q, p, c), or -1.
std::vector<int64_t> rows_of_slots(const DispatchAttributes& a, const Values& choices, const Shape& shape) {
  std::vector<int64_t> rows;
  for (const auto& [q, p, row, fits] : destinations(a, choices, shape)) {
    rows.push_back(fits ? (q * a.expert_blocks + p) * a.rows + row : -1);
  }
  return rows;
}

Results dispatch(const Call& call) {
  const auto& a = call.attributes.as<DispatchAttributes>();
  const int64_t d = call.shape(0).back(), k = call.shape(0).size() == 3 ? call.shape(1)[2] : 1;
  Values sent = Values::Zero(a.batch_blocks * a.length_blocks * a.expert_blocks * a.rows * d);
  const std::vector<int64_t> rows = rows_of_slots(a, call.values(1), call.shape(1));
  for (size_t slot = 0; slot < rows.size(); ++slot) {
    if (rows[slot] < 0) continue;
    sent.segment(rows[slot] * d, d) = call.values(0).segment(static_cast<int64_t>(slot) / k * d, d);
  }
  return {sent};
}

Results combine(const Call& call) {
  const auto& a = call.attributes.as<DispatchAttributes>();
  const int64_t d = call.shape(0).back(), k = a.summed ? call.shape(1)[2] : 1;
  const std::vector<int64_t> rows = rows_of_slots(a, call.values(1), call.shape(1));
  Values y = Values::Zero(static_cast<int64_t>(rows.size()) / k * d);
  for (size_t slot = 0; slot < rows.size(); ++slot) {
    if (rows[slot] >= 0) y.segment(static_cast<int64_t>(slot) / k * d, d) += call.values(0).segment(rows[slot] * d, d);
  }
  return {y};
}

}  // namespace

std::vector<NamedReference> dispatch_references() {
  return {{"expert_counts", expert_counts}, {"expert_load", expert_load}, {"dispatch", dispatch}, {"combine", combine}};
}

}  // namespace shardscope::reference
