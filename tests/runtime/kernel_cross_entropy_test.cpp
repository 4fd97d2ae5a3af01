#include <QtTest>

#include <cmath>
#include <limits>

#include "engine/ops/scale.h"
#include "tests/runtime/kernel_case.h"
#include "tests/test_program.h"

namespace kernel_cross_entropy_test {

using namespace shardscope;
using namespace shardscope::testing;

namespace {

// Columns [first, first + size) of the logits: what a device holds of a split vocabulary.
struct Columns {
  int64_t first, size;
};

struct Terms {
  std::vector<float> exp_sum, label_logit;
  std::vector<int32_t> first;
};

struct Batch {
  int64_t batch, sequence, classes;
  std::vector<float> logits, weights;  // no weights: all are 1
  std::vector<int32_t> labels;
  double scale;

  explicit Batch(Random& random, bool weighted = false)
      : batch(random.integer(1, 8)),
        sequence(random.integer(1, 30)),
        classes(random.integer(2, 70)),
        logits(random.normals(batch * sequence * classes, 3)),
        weights(weighted ? random.normals(batch * sequence) : std::vector<float>{}),
        labels(random.integers(batch * sequence, 0, static_cast<int32_t>(classes) - 1)),
        scale(1.0 / static_cast<double>(batch * sequence)) {}

  // Many logits are equal.
  void round_logits() {
    for (float& logit : logits) logit = std::round(logit / 2);
  }
  void label_half_of_the_rows_right() {
    for (int64_t r = 0; r < rows(); r += 2) {
      const auto begin = logits.begin() + r * classes;
      labels[r] = static_cast<int32_t>(std::max_element(begin, begin + classes) - begin);
    }
  }
  // The columns, cut at random into at most so many parts.
  std::vector<Columns> parts(Random& random, int most) const {
    std::vector<Columns> cut;
    for (int64_t first = 0; first < classes;) {
      const bool last = static_cast<int>(cut.size()) + 1 == most;
      cut.push_back({first, last ? classes - first : random.integer(1, classes - first)});
      first += cut.back().size;
    }
    return cut;
  }

  int64_t rows() const { return batch * sequence; }
  Shape shape() const { return {batch, sequence}; }
  Shape shape(Columns part) const { return {batch, sequence, part.size}; }
  Columns whole() const { return {0, classes}; }
  ScaleAttributes attributes() const { return {scale}; }
  double weight(int64_t row) const { return weights.empty() ? 1.0 : weights[row]; }

  double loss(const std::vector<double>& from) const {
    double total = 0;
    for (int64_t r = 0; r < rows(); ++r) {
      double top = -1e300, sum = 0;
      for (int64_t c = 0; c < classes; ++c) top = std::max(top, from[r * classes + c]);
      for (int64_t c = 0; c < classes; ++c) sum += std::exp(from[r * classes + c] - top);
      total += weight(r) * (top + std::log(sum) - from[r * classes + labels[r]]);
    }
    return total * scale;
  }

  std::vector<float> cut(const std::vector<float>& from, Columns part) const {
    std::vector<float> columns;
    for (int64_t r = 0; r < rows(); ++r) {
      const auto begin = from.begin() + r * classes + part.first;
      columns.insert(columns.end(), begin, begin + part.size);
    }
    return columns;
  }
  void give_logits(KernelCase& test, Columns part) const {
    test.input(shape(part), cut(logits, part)).input_part(shape(whole()), {0, 0, part.first});
  }

  std::vector<float> top(Columns part, int threads = 1) const {
    KernelCase test("row_max");
    give_logits(test, part);
    test.output(shape()).run(threads);
    return test.result();
  }
  std::vector<float> top() const { return top(whole()); }

  Terms terms(Columns part, const std::vector<float>& tops, int threads = 1) const {
    KernelCase test("cross_entropy_terms");
    give_logits(test, part);
    test.input(shape(), labels).input(shape(), tops);
    test.output(shape()).output(shape()).output(shape(), DType::i32).run(threads);
    return {test.result(0), test.result(1), test.integers(2)};
  }

  // The whole's, from the parts'.
  std::vector<float> top_of(const std::vector<Columns>& parts, int threads = 1) const {
    std::vector<float> most(static_cast<size_t>(rows()), -std::numeric_limits<float>::infinity());
    for (Columns part : parts) {
      const std::vector<float> own = top(part, threads);
      for (size_t r = 0; r < most.size(); ++r) most[r] = std::max(most[r], own[r]);
    }
    return most;
  }
  Terms terms_of(const std::vector<Columns>& parts, const std::vector<float>& tops, int threads = 1) const {
    const auto count = static_cast<size_t>(rows());
    Terms total{std::vector<float>(count), std::vector<float>(count),
                std::vector<int32_t>(count, std::numeric_limits<int32_t>::min())};
    for (Columns part : parts) {
      const Terms own = terms(part, tops, threads);
      for (size_t r = 0; r < count; ++r) {
        total.exp_sum[r] += own.exp_sum[r];
        total.label_logit[r] += own.label_logit[r];
        total.first[r] = std::max(total.first[r], own.first[r]);
      }
    }
    return total;
  }

  // Loss and accuracy.
  std::vector<float> finish(const std::vector<float>& tops, const Terms& terms, int threads = 1) const {
    KernelCase test("cross_entropy", attributes());
    test.input(shape(), tops).input(shape(), terms.exp_sum).input(shape(), terms.label_logit);
    test.input(shape(), terms.first).input(shape(), labels);
    if (!weights.empty()) test.input(shape(), weights);
    test.output({}).output({}).run(threads);
    return {test.result(0)[0], test.result(1)[0]};
  }
  std::vector<float> run(int threads) const {
    const std::vector<float> tops = top(whole(), threads);
    return finish(tops, terms(whole(), tops, threads), threads);
  }

  // d logits of these columns, from the whole exponential sums and a cotangent of the loss.
  std::vector<float> gradient(Columns part, float cotangent, int threads, bool over = false) const {
    const std::vector<float> tops = top();
    KernelCase outer("cross_entropy_grad", attributes());
    outer.input(shape(), terms(whole(), tops).exp_sum).input({}, std::vector<float>{cotangent});
    if (!weights.empty()) outer.input(shape(), weights);
    outer.output(shape()).output(shape()).run(threads);
    KernelCase inner("cross_entropy_terms_grad");
    give_logits(inner, part);
    inner.input(shape(), labels).input(shape(), outer.result(0)).input(shape(), outer.result(1)).input(shape(), tops);
    if (over) {
      inner.output_over(0).run(threads);
    } else {
      inner.output(shape(part)).run(threads);
    }
    return inner.result();
  }
};

}  // namespace

class KernelCrossEntropyTest : public QObject {
  Q_OBJECT

 private slots:
  void loss_follows_its_definition();
  void accuracy_counts_rows_whose_first_largest_logit_is_the_label();
  void parts_of_a_split_vocabulary_make_the_whole_by_maximum_and_sum();
  void weights_and_cotangent_scale_the_gradient();
  void gradient_is_the_slope_of_the_loss();
  void label_outside_the_vocabulary_makes_the_loss_not_a_number();
};

void KernelCrossEntropyTest::loss_follows_its_definition() {
  Random random(1);
  for (int trial = 0; trial < 40; ++trial) {
    Batch batch(random, trial % 2);
    if (trial % 4 == 0) {
      for (float& logit : batch.logits) logit = logit * 20 + 500;
    }
    const double loss = batch.loss(doubles(batch.logits));
    QVERIFY(difference({batch.run(1)[0]}, {loss}, 1e-3) < 2e-6 * (trial % 4 == 0 ? 50 : 1));
    QCOMPARE(batch.run(2), batch.run(1));
  }
}

void KernelCrossEntropyTest::accuracy_counts_rows_whose_first_largest_logit_is_the_label() {
  Random random(2);
  for (int trial = 0; trial < 40; ++trial) {
    Batch batch(random, trial % 2);
    batch.round_logits();
    double hits = 0;
    for (int64_t r = 0; r < batch.rows(); ++r) {
      const auto begin = batch.logits.begin() + r * batch.classes;
      const auto first = std::max_element(begin, begin + batch.classes) - begin;
      if (random.integer(0, 1)) batch.labels[r] = static_cast<int32_t>(first);
      if (first == batch.labels[r]) hits += batch.weight(r);
    }
    QVERIFY(difference({batch.run(1 + trial % 2)[1]}, {hits * batch.scale}, 1e-2) < 1e-6);
  }
}

void KernelCrossEntropyTest::parts_of_a_split_vocabulary_make_the_whole_by_maximum_and_sum() {
  Random random(3);
  for (int most : {1, 2, 8}) {
    for (int trial = 0; trial < 30; ++trial) {
      Batch batch(random, trial % 2);
      if (trial % 3 == 0) batch.round_logits();
      if (trial % 4 == 0) batch.label_half_of_the_rows_right();
      const int threads = 1 + trial % 2;
      const std::vector<Columns> parts = batch.parts(random, most);
      const std::vector<float> top = batch.top_of(parts, threads);
      QCOMPARE(top, batch.top());
      const Terms sum = batch.terms_of(parts, top, threads), whole = batch.terms(batch.whole(), top);
      QVERIFY(difference(sum.exp_sum, doubles(whole.exp_sum)) < 1e-6);
      QCOMPARE(sum.label_logit, whole.label_logit);
      QCOMPARE(sum.first, whole.first);
      const std::vector<float> split = batch.finish(top, sum, threads), alone = batch.run(threads);
      QVERIFY(std::abs(split[0] - alone[0]) <= 2e-6 * std::max(1.0f, std::abs(alone[0])));
      QCOMPARE(split[1], alone[1]);
      if (parts.size() == 1) QCOMPARE(split, alone);
      const std::vector<float> gradient = batch.gradient(batch.whole(), 1, 1);
      for (Columns part : parts) {
        QVERIFY(difference(batch.gradient(part, 1, threads), doubles(batch.cut(gradient, part))) < 1e-6);
      }
    }
  }
}

void KernelCrossEntropyTest::weights_and_cotangent_scale_the_gradient() {
  Random random(6);
  for (int trial = 0; trial < 10; ++trial) {
    Batch weighted(random, true), plain = weighted;
    plain.weights.clear();
    const std::vector<float> unscaled = plain.gradient(plain.whole(), 1, 1);
    for (float cotangent : {1.0f, 1.75f}) {
      std::vector<double> expected = doubles(unscaled), expected_weighted = expected;
      for (size_t i = 0; i < expected.size(); ++i) {
        expected[i] *= cotangent;
        expected_weighted[i] *= cotangent * weighted.weight(static_cast<int64_t>(i) / weighted.classes);
      }
      QVERIFY(difference(plain.gradient(plain.whole(), cotangent, 1), expected) < 1e-6);
      QVERIFY(difference(weighted.gradient(weighted.whole(), cotangent, 1), expected_weighted) < 1e-6);
    }
  }
}

void KernelCrossEntropyTest::gradient_is_the_slope_of_the_loss() {
  Random random(4);
  for (int trial = 0; trial < 20; ++trial) {
    const Batch batch(random, trial % 2);
    const float cotangent = trial % 3 == 0 ? 2.5f : 1.0f;
    const std::vector<float> gradient = batch.gradient(batch.whole(), cotangent, 1);
    QCOMPARE(batch.gradient(batch.whole(), cotangent, 2), gradient);
    QCOMPARE(batch.gradient(batch.whole(), cotangent, 1 + trial % 2, true), gradient);
    for (int probe = 0; probe < 20; ++probe) {
      const int64_t at = random.integer(0, batch.rows() * batch.classes - 1);
      std::vector<double> up = doubles(batch.logits), down = up;
      up[at] += 1e-4;
      down[at] -= 1e-4;
      const double slope = cotangent * (batch.loss(up) - batch.loss(down)) / 2e-4;
      const double share = std::max(1.0, std::abs(batch.weight(at / batch.classes)));
      QVERIFY(std::abs(gradient[at] - slope) < 1e-5 * batch.scale * cotangent * share);
    }
  }
}

void KernelCrossEntropyTest::label_outside_the_vocabulary_makes_the_loss_not_a_number() {
  Random random(5);
  for (int32_t wrong : {-1, 1'000'000}) {
    Batch batch(random);
    batch.labels.back() = wrong;
    QVERIFY(std::isnan(batch.run(2)[0]));
    // On each device of a split vocabulary, so that no sum hides it.
    const std::vector<Columns> parts{{0, 1}, {1, batch.classes - 1}};
    for (Columns part : parts) QVERIFY(std::isnan(batch.terms(part, batch.top()).label_logit.back()));
    QVERIFY(std::isnan(batch.finish(batch.top(), batch.terms_of(parts, batch.top()))[0]));
  }
}

REGISTER_TEST(KernelCrossEntropyTest)

}  // namespace kernel_cross_entropy_test

#include "kernel_cross_entropy_test.moc"
