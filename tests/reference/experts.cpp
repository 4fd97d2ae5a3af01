#include <cmath>
#include <limits>

#include "engine/ops/expert_linear.h"
#include "engine/ops/top_k.h"
#include "tests/reference/named_reference.h"

namespace shardscope::reference {

namespace {

using Row = Eigen::ArrayXd;

Row scores_of(const TopKAttributes& attributes, const Row& logits) {
  if (attributes.score == TopKAttributes::Score::sigmoid) return 1 / (1 + (-logits).exp());
  const Row powers = (logits - logits.maxCoeff()).exp();
  return powers / powers.sum();
}

// Takes the largest element out of a row.
int64_t take_largest(Row& row) {
  Eigen::Index at = 0;
  row.maxCoeff(&at);
  row[at] = -std::numeric_limits<double>::infinity();
  return at;
}

Results top_k(const Call& call) {
  const auto& attributes = call.attributes.as<TopKAttributes>();
  const int64_t experts = call.shape(0)[2], rows = call.values(0).size() / experts;
  Values choices(rows * attributes.k), weights(choices.size());
  for (int64_t row = 0; row < rows; ++row) {
    const Row scores = scores_of(attributes, call.values(0).segment(row * experts, experts));
    Row compared = scores;
    if (call.operands.size() > 1) compared += call.values(1);
    if (attributes.groups > 1) {
      const int64_t size = experts / attributes.groups;
      Row sums(attributes.groups);
      for (int64_t g = 0; g < attributes.groups; ++g) {
        Row group = compared.segment(g * size, size);
        sums[g] = group.maxCoeff();
        take_largest(group);
        if (size > 1) sums[g] += group.maxCoeff();
      }
      Row kept = Row::Constant(experts, -std::numeric_limits<double>::infinity());
      for (int64_t i = 0; i < attributes.chosen_groups; ++i) {
        const int64_t g = take_largest(sums);
        kept.segment(g * size, size) = compared.segment(g * size, size);
      }
      compared = kept;
    }
    double sum = 0;
    for (int64_t i = 0; i < attributes.k; ++i) {
      const int64_t chosen = take_largest(compared);
      choices[row * attributes.k + i] = static_cast<double>(chosen);
      weights[row * attributes.k + i] = scores[chosen];
      sum += scores[chosen];
    }
    weights.segment(row * attributes.k, attributes.k) *= attributes.scale / (attributes.normalise ? sum : 1);
  }
  return {choices, weights};
}

// Through each score's slope by each logit.
Results top_k_grad(const Call& call) {
  const auto& attributes = call.attributes.as<TopKAttributes>();
  const int64_t experts = call.shape(0)[2], rows = call.values(0).size() / experts, k = attributes.k;
  Values dlogits(call.values(0).size());
  for (int64_t row = 0; row < rows; ++row) {
    const Row scores = scores_of(attributes, call.values(0).segment(row * experts, experts));
    Row dscores = Row::Zero(experts);
    double sum = 0, product = 0;
    for (int64_t i = 0; i < k; ++i) {
      const double score = scores[static_cast<int64_t>(call.values(1)[row * k + i])];
      sum += score;
      product += score * call.values(2)[row * k + i];
    }
    for (int64_t i = 0; i < k; ++i) {
      const double dweight = call.values(2)[row * k + i];
      dscores[static_cast<int64_t>(call.values(1)[row * k + i])] =
          attributes.scale * (attributes.normalise ? dweight / sum - product / (sum * sum) : dweight);
    }
    const bool softmax = attributes.score == TopKAttributes::Score::softmax;
    const Row slopes =
        softmax ? Row(scores * (dscores - (dscores * scores).sum())) : Row(dscores * scores * (1 - scores));
    dlogits.segment(row * experts, experts) = slopes;
  }
  return {dlogits};
}

Results expert_probability(const Call& call) {
  const int64_t experts = call.shape(0)[2];
  Values sums = Values::Zero(experts);
  for (int64_t row = 0; row < call.values(0).size() / experts; ++row) {
    sums += scores_of({}, call.values(0).segment(row * experts, experts));
  }
  return {sums};
}

// Through each probability's slope by each logit.
Results expert_probability_grad(const Call& call) {
  const int64_t experts = call.shape(0)[2];
  Values dlogits = Values::Zero(call.values(0).size());
  for (int64_t row = 0; row < dlogits.size() / experts; ++row) {
    const Row p = scores_of({}, call.values(0).segment(row * experts, experts));
    for (int64_t i = 0; i < experts; ++i) {
      for (int64_t j = 0; j < experts; ++j) {
        dlogits[row * experts + i] += call.values(1)[j] * p[j] * ((i == j ? 1 : 0) - p[i]);
      }
    }
  }
  return {dlogits};
}

// Which row of an array of `rows` rows slot `slot` of `slots` is.
int64_t row_of(int64_t slot, int64_t slots, int64_t rows) { return slot / (slots / rows); }

Results expert_linear(const Call& call) {
  const bool transposed = call.attributes.as<ExpertLinearAttributes>().transposed;
  const int64_t f = call.shape(2)[1], d = call.shape(2)[2], in = transposed ? f : d, out = transposed ? d : f;
  const int64_t slots = call.values(1).size(), rows = call.values(0).size() / in;
  Values y = Values::Zero(slots * out);
  for (int64_t slot = 0; slot < slots; ++slot) {
    const auto expert = static_cast<int64_t>(call.values(1)[slot]);
    const double* x = call.values(0).data() + row_of(slot, slots, rows) * in;
    for (int64_t i = 0; i < f; ++i) {
      for (int64_t j = 0; j < d; ++j) {
        const double weight = call.values(2)[(expert * f + i) * d + j];
        y[slot * out + (transposed ? j : i)] += weight * x[transposed ? i : j];
      }
    }
  }
  return {y};
}

Results expert_linear_grad(const Call& call) {
  const int64_t experts = call.attributes.as<ExpertLinearAttributes>().experts;
  const int64_t d = call.shape(0).back(), f = call.shape(2).back();
  const int64_t slots = call.values(1).size(), rows = call.values(0).size() / d;
  Values dkernels = Values::Zero(experts * f * d);
  for (int64_t slot = 0; slot < slots; ++slot) {
    const auto expert = static_cast<int64_t>(call.values(1)[slot]);
    const double* x = call.values(0).data() + row_of(slot, slots, rows) * d;
    const double* dy = call.values(2).data() + row_of(slot, slots, call.values(2).size() / f) * f;
    for (int64_t i = 0; i < f; ++i) {
      for (int64_t j = 0; j < d; ++j) dkernels[(expert * f + i) * d + j] += dy[i] * x[j];
    }
  }
  return {dkernels};
}

Results weighted_sum(const Call& call) {
  const int64_t k = call.shape(0)[2], d = call.shape(0)[3];
  Values sums = Values::Zero(call.values(0).size() / k);
  for (int64_t slot = 0; slot < call.values(1).size(); ++slot) {
    sums.segment(slot / k * d, d) += call.values(1)[slot] * call.values(0).segment(slot * d, d);
  }
  return {sums};
}

Results weighted_sum_grad(const Call& call) {
  const int64_t k = call.shape(0)[2], d = call.shape(0)[3];
  Values dslots(call.values(0).size()), dweights(call.values(1).size());
  for (int64_t slot = 0; slot < dweights.size(); ++slot) {
    const auto dy = call.values(2).segment(slot / k * d, d);
    dslots.segment(slot * d, d) = call.values(1)[slot] * dy;
    dweights[slot] = (call.values(0).segment(slot * d, d) * dy).sum();
  }
  return {dslots, dweights};
}

}  // namespace

std::vector<NamedReference> expert_references() {
  return {{"top_k", top_k},
          {"top_k_grad", top_k_grad},
          {"expert_probability", expert_probability},
          {"expert_probability_grad", expert_probability_grad},
          {"expert_linear", expert_linear},
          {"expert_linear_grad", expert_linear_grad},
          {"weighted_sum", weighted_sum},
          {"weighted_sum_grad", weighted_sum_grad}};
}

}  // namespace shardscope::reference
