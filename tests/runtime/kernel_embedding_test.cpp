#include <QtTest>

#include "engine/ops/embedding.h"
#include "tests/runtime/kernel_case.h"
#include "tests/test_program.h"

namespace kernel_embedding_test {

using namespace shardscope;
using namespace shardscope::testing;

namespace {

struct Lookup {
  int64_t batch, sequence, rows, features;
  std::vector<int32_t> tokens;
  std::vector<float> table, cotangent;

  explicit Lookup(Random& random)
      : batch(random.integer(1, 6)),
        sequence(random.integer(1, 40)),
        rows(random.integer(2, 50)),
        features(random.integer(1, 70)),
        tokens(random.integers(batch * sequence, -2, static_cast<int32_t>(rows) + 1)),
        table(random.normals(rows * features)),
        cotangent(random.normals(batch * sequence * features)) {}

  // The part of the table with rows [begin, end).
  std::vector<float> forward(int64_t begin, int64_t end, int threads) const {
    KernelCase test("embedding");
    test.input({batch, sequence}, tokens);
    test.input({end - begin, features},
               std::vector<float>(table.begin() + begin * features, table.begin() + end * features));
    test.input_part({rows, features}, {begin, 0}).output({batch, sequence, features}).run(threads);
    return test.result();
  }

  std::vector<float> backward(int64_t begin, int64_t end, int threads) const {
    KernelCase test("embedding_grad", EmbeddingGradAttributes{rows});
    test.input({batch, sequence}, tokens).input({batch, sequence, features}, cotangent);
    test.output({end - begin, features}).output_part({rows, features}, {begin, 0}).run(threads);
    return test.result();
  }
};

}  // namespace

class KernelEmbeddingTest : public QObject {
  Q_OBJECT

 private slots:
  void rows_are_looked_up_and_tokens_outside_give_zeros();
  void parts_of_the_table_add_up_to_the_whole();
  void gradient_sums_the_cotangents_of_each_token();
};

void KernelEmbeddingTest::rows_are_looked_up_and_tokens_outside_give_zeros() {
  Random random(1);
  for (int trial = 0; trial < 50; ++trial) {
    const Lookup lookup(random);
    for (int threads : {1, 2}) {
      const std::vector<float> found = lookup.forward(0, lookup.rows, threads);
      for (size_t i = 0; i < found.size(); ++i) {
        const int32_t token = lookup.tokens[i / lookup.features];
        const bool inside = token >= 0 && token < lookup.rows;
        QCOMPARE(found[i], inside ? lookup.table[token * lookup.features + i % lookup.features] : 0.0f);
      }
    }
  }
}

void KernelEmbeddingTest::parts_of_the_table_add_up_to_the_whole() {
  Random random(2);
  for (int trial = 0; trial < 50; ++trial) {
    const Lookup lookup(random);
    const int64_t cut = random.integer(1, lookup.rows - 1);
    std::vector<float> low = lookup.forward(0, cut, 2), high = lookup.forward(cut, lookup.rows, 1);
    for (size_t i = 0; i < low.size(); ++i) low[i] += high[i];
    QCOMPARE(low, lookup.forward(0, lookup.rows, 1));

    std::vector<float> joined = lookup.backward(0, cut, 1);
    const std::vector<float> rest = lookup.backward(cut, lookup.rows, 2);
    joined.insert(joined.end(), rest.begin(), rest.end());
    QCOMPARE(joined, lookup.backward(0, lookup.rows, 1));
  }
}

void KernelEmbeddingTest::gradient_sums_the_cotangents_of_each_token() {
  Random random(3);
  for (int trial = 0; trial < 50; ++trial) {
    const Lookup lookup(random);
    std::vector<double> expected(lookup.table.size(), 0.0);
    for (size_t i = 0; i < lookup.cotangent.size(); ++i) {
      const int32_t token = lookup.tokens[i / lookup.features];
      if (token < 0 || token >= lookup.rows) continue;
      expected[token * lookup.features + i % lookup.features] += lookup.cotangent[i];
    }
    QVERIFY(difference(lookup.backward(0, lookup.rows, 1), expected) < 1e-6);
    QCOMPARE(lookup.backward(0, lookup.rows, 2), lookup.backward(0, lookup.rows, 1));
  }
}

REGISTER_TEST(KernelEmbeddingTest)

}  // namespace kernel_embedding_test

#include "kernel_embedding_test.moc"
