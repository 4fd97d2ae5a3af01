#include <QtTest>

#include <cmath>

#include "tests/runtime/kernel_case.h"

using namespace shardscope;
using namespace shardscope::testing;

namespace {

struct Batch {
  int64_t batch, sequence, classes;
  std::vector<float> logits;
  std::vector<int32_t> labels;
  double scale;

  explicit Batch(Random& random)
      : batch(random.integer(1, 8)),
        sequence(random.integer(1, 30)),
        classes(random.integer(2, 70)),
        logits(random.normals(batch * sequence * classes, 3)),
        labels(random.integers(batch * sequence, 0, static_cast<int32_t>(classes) - 1)),
        scale(1.0 / static_cast<double>(batch * sequence)) {}

  int64_t rows() const { return batch * sequence; }
  Attributes attributes() const { return {{"scale", scale}}; }

  double loss(const std::vector<double>& from, std::vector<double>* lse = nullptr) const {
    double total = 0;
    for (int64_t r = 0; r < rows(); ++r) {
      double top = -1e300, sum = 0;
      for (int64_t c = 0; c < classes; ++c) top = std::max(top, from[r * classes + c]);
      for (int64_t c = 0; c < classes; ++c) sum += std::exp(from[r * classes + c] - top);
      if (lse) lse->push_back(top + std::log(sum));
      total += top + std::log(sum) - from[r * classes + labels[r]];
    }
    return total * scale;
  }

  KernelCase run(int threads) const {
    KernelCase test("cross_entropy", attributes());
    test.input({batch, sequence, classes}, logits).input({batch, sequence}, labels);
    test.output({}).output({}).output({batch, sequence}).run(threads);
    return test;
  }
};

}  // namespace

class KernelCrossEntropyTest : public QObject {
  Q_OBJECT

 private slots:
  void loss_and_log_sum_exp_follow_their_definition();
  void correct_counts_rows_whose_first_largest_logit_is_the_label();
  void gradient_is_the_slope_of_the_loss();
  void label_outside_the_vocabulary_makes_the_loss_not_a_number();
};

void KernelCrossEntropyTest::loss_and_log_sum_exp_follow_their_definition() {
  Random random(1);
  for (int trial = 0; trial < 40; ++trial) {
    Batch batch(random);
    if (trial % 4 == 0) {
      for (float& logit : batch.logits) logit = logit * 20 + 500;
    }
    std::vector<double> lse;
    const double loss = batch.loss(doubles(batch.logits), &lse);
    const KernelCase one = batch.run(1), two = batch.run(2);
    QVERIFY(difference(one.result(0), {loss}, 1e-3) < 2e-6 * (trial % 4 == 0 ? 50 : 1));
    QVERIFY(difference(one.result(2), lse) < 1e-6);
    for (int i : {0, 1, 2}) QCOMPARE(two.result(i), one.result(i));
  }
}

void KernelCrossEntropyTest::correct_counts_rows_whose_first_largest_logit_is_the_label() {
  Random random(2);
  for (int trial = 0; trial < 40; ++trial) {
    Batch batch(random);
    for (float& logit : batch.logits) logit = std::round(logit / 2);  // many ties
    int hits = 0;
    for (int64_t r = 0; r < batch.rows(); ++r) {
      const auto begin = batch.logits.begin() + r * batch.classes;
      const auto first = std::max_element(begin, begin + batch.classes) - begin;
      if (random.integer(0, 1)) batch.labels[r] = static_cast<int32_t>(first);
      hits += first == batch.labels[r];
    }
    QVERIFY(difference(batch.run(1 + trial % 2).result(1), {hits * batch.scale}) < 1e-6);
  }
}

void KernelCrossEntropyTest::gradient_is_the_slope_of_the_loss() {
  Random random(3);
  for (int trial = 0; trial < 20; ++trial) {
    const Batch batch(random);
    const std::vector<float> lse = batch.run(1).result(2);
    std::vector<float> first;
    for (int threads : {1, 2}) {
      KernelCase apart("cross_entropy_grad", batch.attributes()), over("cross_entropy_grad", batch.attributes());
      const Shape all{batch.batch, batch.sequence, batch.classes}, rows{batch.batch, batch.sequence};
      apart.input(all, batch.logits).input(rows, batch.labels).input(rows, lse).output(all).run(threads);
      over.input(all, batch.logits).input(rows, batch.labels).input(rows, lse).output_over(0).run(threads);
      QCOMPARE(over.result(), apart.result());
      if (threads == 1) first = apart.result();
      QCOMPARE(apart.result(), first);
    }
    for (int probe = 0; probe < 20; ++probe) {
      const int64_t at = random.integer(0, batch.rows() * batch.classes - 1);
      std::vector<double> up = doubles(batch.logits), down = up;
      up[at] += 1e-4;
      down[at] -= 1e-4;
      QVERIFY(std::abs(first[at] - (batch.loss(up) - batch.loss(down)) / 2e-4) < 1e-5 * batch.scale);
    }
  }
}

void KernelCrossEntropyTest::label_outside_the_vocabulary_makes_the_loss_not_a_number() {
  Random random(4);
  for (int32_t wrong : {-1, 1'000'000}) {
    Batch batch(random);
    batch.labels.back() = wrong;
    QVERIFY(std::isnan(batch.run(2).result(0)[0]));
  }
}

QTEST_APPLESS_MAIN(KernelCrossEntropyTest)
#include "kernel_cross_entropy_test.moc"
