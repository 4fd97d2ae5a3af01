#include "engine/ops/attention.h"

#include <cmath>
#include <limits>

#include "tests/reference/named_reference.h"

namespace shardscope::reference {

namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// The (position, d) matrix of one head in an array (b, position, h, d).
template <class Data>
auto head(Data* data, const Shape& shape, int64_t b, int64_t h) {
  using Plain = std::conditional_t<std::is_const_v<Data>, const Matrix, Matrix>;
  return Eigen::Map<Plain, 0, Eigen::OuterStride<>>(data + (b * shape[1] * shape[2] + h) * shape[3], shape[1], shape[3],
                                                    Eigen::OuterStride<>(shape[2] * shape[3]));
}

// What attention and its gradient share: operands query, key, value, ... [[, valid queries], valid keys].
struct Problem {
  Problem(const Call& call, size_t first_mask)
      : call(call),
        attributes(call.attributes.as<AttentionAttributes>()),
        batch(call.shape(0)[0]),
        queries(call.shape(0)[1]),
        heads(call.shape(0)[2]),
        keys(call.shape(1)[1]),
        key_heads(call.shape(1)[2]),
        scale(attributes.scale > 0 ? attributes.scale : 1 / std::sqrt(static_cast<double>(call.shape(0)[3]))),
        masks(call.operands.size() - first_mask) {}

  const Call& call;
  const AttentionAttributes& attributes;
  int64_t batch, queries, heads, keys, key_heads;
  double scale;
  size_t masks;

  auto of(size_t operand, int64_t b, int64_t h) const {
    const Shape& shape = call.shape(operand);
    return head(call.values(operand).data(), shape, b, h / (heads / shape[2]));
  }
  bool sees(int64_t b, int64_t q, int64_t k) const {
    const size_t last = call.operands.size() - 1;
    if (attributes.causal && k > q) return false;
    if (attributes.window > 0 && k <= q - attributes.window) return false;
    if (masks > 0 && call.values(last)[b * keys + k] <= 0) return false;
    return masks < 2 || call.values(last - 1)[b * queries + q] > 0;
  }
  bool sees_nothing(int64_t b, int64_t q) const {
    for (int64_t k = 0; k < keys; ++k) {
      if (sees(b, q, k)) return false;
    }
    return true;
  }
  // Before the soft cap.
  Matrix products(int64_t b, int64_t h) const { return scale * of(0, b, h) * of(1, b, h).transpose(); }
  // Masked scores are the least f32.
  Matrix scores(int64_t b, int64_t h) const {
    Matrix scores = products(b, h);
    if (attributes.soft_cap > 0) {
      scores = attributes.soft_cap * (scores.array() / attributes.soft_cap).tanh().matrix();
    }
    for (int64_t q = 0; q < queries && !attributes.slopes.empty(); ++q) {
      for (int64_t k = 0; k < keys; ++k) {
        scores(q, k) += attributes.slopes[static_cast<size_t>(h)] * static_cast<double>(k - q);
      }
    }
    for (int64_t q = 0; q < queries; ++q) {
      for (int64_t k = 0; k < keys; ++k) {
        if (!sees(b, q, k)) scores(q, k) = std::numeric_limits<float>::lowest();
      }
    }
    return scores;
  }
  // What dropout multiplies the weights by.
  Matrix kept(int64_t b, int64_t h) const {
    const DropoutAttributes& dropout = attributes.dropout;
    Matrix factors = Matrix::Ones(queries, keys);
    if (dropout.rate == 0) return factors;
    const Key key = key_at(dropout.key, call.step);
    for (int64_t i = 0; i < factors.size(); ++i) {
      const uint64_t index = static_cast<uint64_t>((b * heads + h) * factors.size() + i);
      const bool is_kept = bernoulli(key, index, static_cast<float>(1 - dropout.rate));
      factors.data()[i] = is_kept ? 1 / (1 - dropout.rate) : 0;
    }
    return factors;
  }
};

Results attention(const Call& call) {
  const Problem problem(call, 3);
  Values context(call.values(0).size()), lse(problem.batch * problem.heads * problem.queries);
  for (int64_t b = 0; b < problem.batch; ++b) {
    for (int64_t h = 0; h < problem.heads; ++h) {
      Matrix weights = problem.scores(b, h);
      for (int64_t q = 0; q < problem.queries; ++q) {
        auto row = weights.row(q).array();
        const double top = row.maxCoeff();
        row = (row - top).exp();
        lse[(b * problem.heads + h) * problem.queries + q] = top + std::log(row.sum());
        row /= row.sum();
      }
      head(context.data(), call.shape(0), b, h) = weights.cwiseProduct(problem.kept(b, h)) * problem.of(2, b, h);
    }
  }
  return {context, lse};
}

// The log-sum-exp of a query that sees nothing has lost its digits, but then the weights are equal and the scores
// constants.
Results attention_grad(const Call& call) {
  const bool has_dlse = call.operands.size() > 6 && call.operands[6].type.dtype == DType::f32;
  const Problem problem(call, has_dlse ? 7 : 6);
  const Values& lse = call.values(4);
  Values dquery(call.values(0).size()), dkey = Values::Zero(call.values(1).size()), dvalue = dkey;
  for (int64_t b = 0; b < problem.batch; ++b) {
    for (int64_t h = 0; h < problem.heads; ++h) {
      const Matrix scores = problem.scores(b, h), kept = problem.kept(b, h);
      const auto context = problem.of(3, b, h), dcontext = problem.of(5, b, h);
      const Matrix dweights = kept.cwiseProduct(dcontext * problem.of(2, b, h).transpose());
      Matrix weights(problem.queries, problem.keys), dscores = weights;
      for (int64_t q = 0; q < problem.queries; ++q) {
        if (problem.sees_nothing(b, q)) {
          weights.row(q).setConstant(1 / static_cast<double>(problem.keys));
          dscores.row(q).setZero();
        } else {
          const int64_t row = (b * problem.heads + h) * problem.queries + q;
          const double mean = dcontext.row(q).dot(context.row(q)) - (has_dlse ? call.values(6)[row] : 0);
          weights.row(q).array() = (scores.row(q).array() - lse[row]).exp();
          dscores.row(q).array() = weights.row(q).array() * (dweights.row(q).array() - mean);
        }
      }
      if (const double cap = problem.attributes.soft_cap; cap > 0) {
        dscores.array() *= 1 - (problem.products(b, h).array() / cap).tanh().square();
      }
      const int64_t key_head = h / (problem.heads / problem.key_heads);
      head(dquery.data(), call.shape(0), b, h) = problem.scale * dscores * problem.of(1, b, h);
      head(dkey.data(), call.shape(1), b, key_head) += problem.scale * dscores.transpose() * problem.of(0, b, h);
      head(dvalue.data(), call.shape(2), b, key_head) += weights.cwiseProduct(kept).transpose() * dcontext;
    }
  }
  return {dquery, dkey, dvalue};
}

}  // namespace

std::vector<NamedReference> attention_references() {
  return {{"attention", attention}, {"attention_grad", attention_grad}};
}

}  // namespace shardscope::reference
