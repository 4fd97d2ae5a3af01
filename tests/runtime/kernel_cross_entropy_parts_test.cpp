#include <QtTest>

#include <cmath>
#include <limits>

#include "tests/runtime/kernel_case.h"

using namespace shardscope;
using namespace shardscope::testing;

namespace {

// Cross-entropy of a batch whose vocabulary is split in `parts`, each a device, and of the whole.
struct Batch {
  int64_t parts, held, classes, rows;
  std::vector<float> logits, weights;
  std::vector<int32_t> labels;
  Attributes attributes;

  Batch(Random& random, int64_t parts, bool ties)
      : parts(parts),
        held(random.integer(1, 40)),
        classes(parts * held),
        rows(random.integer(1, 50)),
        logits(random.normals(rows * classes, 3)),
        weights(random.normals(rows)),
        labels(random.integers(rows, 0, static_cast<int32_t>(classes) - 1)),
        attributes{{"scale", 1.0 / static_cast<double>(rows)}} {
    if (ties) {
      for (float& logit : logits) logit = std::round(logit / 2);
    }
  }

  std::vector<float> part(int64_t device, const std::vector<float>& of) const {
    std::vector<float> values;
    for (int64_t row = 0; row < rows; ++row) {
      const auto begin = of.begin() + row * classes + device * held;
      values.insert(values.end(), begin, begin + held);
    }
    return values;
  }
  KernelCase& give_part(KernelCase& test, int64_t device) const {
    return test.input({rows, held}, part(device, logits)).input_part({rows, classes}, {0, device * held});
  }

  struct Result {
    float loss, correct;
    std::vector<float> lse;
  };
  static Result result_of(const KernelCase& test) { return {test.result(0)[0], test.result(1)[0], test.result(2)}; }

  Result whole(bool weighted) const {
    KernelCase test("cross_entropy", attributes);
    // The op has labels for logits of three dimensions.
    test.input({1, rows, classes}, logits).input({1, rows}, labels);
    if (weighted) test.input({1, rows}, weights);
    test.output({}).output({}).output({1, rows}).run();
    return result_of(test);
  }

  Result in_parts(bool weighted, int threads) const {
    std::vector<float> maxima(static_cast<size_t>(rows), -std::numeric_limits<float>::infinity());
    for (int64_t device = 0; device < parts; ++device) {
      KernelCase test("row_max");
      give_part(test, device).output({rows}).run(threads);
      for (int64_t row = 0; row < rows; ++row) maxima[row] = std::max(maxima[row], test.result()[row]);
    }
    std::vector<float> sums(static_cast<size_t>(rows), 0.0f), label_logits(static_cast<size_t>(rows), 0.0f);
    std::vector<int32_t> first(static_cast<size_t>(rows), std::numeric_limits<int32_t>::min());
    for (int64_t device = 0; device < parts; ++device) {
      KernelCase test("softmax_terms");
      give_part(test, device).input({rows}, labels).input({rows}, maxima);
      test.output({rows}).output({rows}).output({rows}, DType::i32).run(threads);
      for (int64_t row = 0; row < rows; ++row) {
        sums[row] += test.result(0)[row];
        label_logits[row] += test.result(1)[row];
        first[row] = std::max(first[row], test.integers(2)[row]);
      }
    }
    KernelCase test("cross_entropy_of_terms", attributes);
    test.input({rows}, sums).input({rows}, label_logits).input({rows}, first).input({rows}, maxima);
    test.input({rows}, labels);
    if (weighted) test.input({rows}, weights);
    test.output({}).output({}).output({rows}).run(threads);
    return result_of(test);
  }
};

}  // namespace

class KernelCrossEntropyPartsTest : public QObject {
  Q_OBJECT

 private slots:
  void parts_of_the_vocabulary_give_the_loss_of_the_whole();
  void the_first_of_equal_logits_is_found_across_parts();
  void label_outside_the_vocabulary_makes_the_loss_not_a_number();
  void gradients_of_parts_are_parts_of_the_gradient();
  void weights_and_cotangent_scale_the_gradient();
};

void KernelCrossEntropyPartsTest::parts_of_the_vocabulary_give_the_loss_of_the_whole() {
  Random random(1);
  for (int64_t parts : {1, 2, 8}) {
    for (int trial = 0; trial < 15; ++trial) {
      const Batch batch(random, parts, false);
      for (bool weighted : {false, true}) {
        const auto whole = batch.whole(weighted), split = batch.in_parts(weighted, 1 + trial % 2);
        QVERIFY(std::abs(whole.loss - split.loss) <= 2e-6 * std::max(1.0f, std::abs(whole.loss)));
        QCOMPARE(split.correct, whole.correct);
        QVERIFY(difference(split.lse, doubles(whole.lse)) < 1e-6);
        if (parts == 1) QCOMPARE(split.loss, whole.loss);
      }
    }
  }
}

void KernelCrossEntropyPartsTest::the_first_of_equal_logits_is_found_across_parts() {
  Random random(2);
  for (int trial = 0; trial < 60; ++trial) {
    Batch batch(random, 4, true);
    for (int64_t row = 0; row < batch.rows; row += 2) {
      const auto begin = batch.logits.begin() + row * batch.classes;
      batch.labels[row] = static_cast<int32_t>(std::max_element(begin, begin + batch.classes) - begin);
    }
    QCOMPARE(batch.in_parts(false, 1).correct, batch.whole(false).correct);
  }
}

void KernelCrossEntropyPartsTest::label_outside_the_vocabulary_makes_the_loss_not_a_number() {
  Random random(3);
  for (int32_t wrong : {-1, 1'000'000}) {
    Batch batch(random, 2, false);
    batch.labels[0] = wrong;
    QVERIFY(std::isnan(batch.in_parts(false, 1).loss));
  }
}

void KernelCrossEntropyPartsTest::gradients_of_parts_are_parts_of_the_gradient() {
  Random random(4);
  for (int trial = 0; trial < 20; ++trial) {
    const Batch batch(random, 4, false);
    const std::vector<float> lse = batch.whole(false).lse;
    KernelCase whole("cross_entropy_grad", batch.attributes);
    whole.input({1, batch.rows, batch.classes}, batch.logits).input({1, batch.rows}, batch.labels);
    whole.input({1, batch.rows}, lse).output({1, batch.rows, batch.classes}).run();
    for (int64_t device = 0; device < batch.parts; ++device) {
      KernelCase part("cross_entropy_grad", batch.attributes);
      part.input({1, batch.rows, batch.held}, batch.part(device, batch.logits));
      part.input_part({1, batch.rows, batch.classes}, {0, 0, device * batch.held});
      part.input({1, batch.rows}, batch.labels).input({1, batch.rows}, lse);
      part.output({1, batch.rows, batch.held}).run(1 + trial % 2);
      QVERIFY(difference(part.result(), doubles(batch.part(device, whole.result()))) < 1e-6);
    }
  }
}

void KernelCrossEntropyPartsTest::weights_and_cotangent_scale_the_gradient() {
  Random random(5);
  const Batch batch(random, 1, false);
  const std::vector<float> lse = batch.whole(false).lse;
  const Shape all{1, batch.rows, batch.classes}, rows{1, batch.rows};
  auto gradient = [&](bool weighted, bool cotangent) {
    KernelCase test("cross_entropy_grad", batch.attributes);
    test.input(all, batch.logits).input(rows, batch.labels).input(rows, lse);
    if (weighted) test.input(rows, batch.weights);
    if (cotangent) test.input(Shape{}, std::vector<float>{1.75f});
    test.output(all).run();
    return test.result();
  };
  const std::vector<float> plain = gradient(false, false);
  for (bool weighted : {false, true}) {
    for (bool cotangent : {false, true}) {
      std::vector<double> expected = doubles(plain);
      for (size_t i = 0; i < expected.size(); ++i) {
        if (weighted) expected[i] *= batch.weights[i / static_cast<size_t>(batch.classes)];
        if (cotangent) expected[i] *= 1.75;
      }
      QVERIFY(difference(gradient(weighted, cotangent), expected) < 1e-6);
    }
  }
}

QTEST_APPLESS_MAIN(KernelCrossEntropyPartsTest)
#include "kernel_cross_entropy_parts_test.moc"
