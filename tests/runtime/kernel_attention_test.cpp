#include <QtTest>

#include <cmath>
#include <limits>

#include "engine/base/instruction_set.h"
#include "engine/base/random.h"
#include "engine/ops/attention.h"
#include "tests/runtime/kernel_case.h"
#include "tests/test_program.h"

namespace kernel_attention_test {

using namespace shardscope;
using namespace shardscope::testing;

namespace {

constexpr int64_t seed = 3, fold = 77, step = 4;

// One attention problem, and its definition in double precision as flax.linen writes it. Each of the key heads serves
// heads / key_heads query heads.
struct Attention {
  int64_t batch, length, heads, key_heads, size;
  bool causal, masked;
  double rate = 0;
  std::vector<float> query, key, value, cotangent;
  std::vector<int32_t> valid_queries, valid_keys;

  Attention(Random& random, int64_t b, int64_t s, int64_t key_heads, int64_t served, int64_t d)
      : batch(b),
        length(s),
        heads(key_heads * served),
        key_heads(key_heads),
        size(d),
        causal(random.integer(0, 1)),
        masked(random.integer(0, 1)),
        query(random.normals(b * s * heads * d)),
        key(random.normals(b * s * key_heads * d)),
        value(random.normals(b * s * key_heads * d)),
        cotangent(random.normals(b * s * heads * d)),
        valid_queries(random.integers(b * s, 0, 4)),
        valid_keys(valid_queries) {
    if (random.integer(0, 2) == 0) {
      std::fill(valid_keys.begin(), valid_keys.begin() + std::min<int64_t>(s, 3), 0);
      if (random.integer(0, 1)) valid_queries = valid_keys;
    }
  }

  Shape shape() const { return {batch, length, heads, size}; }
  Shape key_shape() const { return {batch, length, key_heads, size}; }
  int64_t served() const { return heads / key_heads; }
  AttentionAttributes attributes() const { return {causal, {rate, {key_from_seed(seed), 1, 0, fold}}}; }
  int64_t key_at(int64_t b, int64_t s, int64_t h) const { return ((b * length + s) * key_heads + h / served()) * size; }

  std::vector<double> context(const std::vector<double>& q, const std::vector<double>& k, const std::vector<double>& v,
                              std::vector<double>* lse = nullptr) const {
    std::vector<double> result(q.size(), 0.0), scores(length);
    const Key random = fold_in(fold_in(key_from_seed(seed), step), fold);
    for (int64_t b = 0; b < batch; ++b) {
      for (int64_t h = 0; h < heads; ++h) {
        for (int64_t i = 0; i < length; ++i) {
          const int64_t at = ((b * length + i) * heads + h) * size;
          double top = -1e300, sum = 0;
          for (int64_t j = 0; j < length; ++j) {
            double dot = 0;
            for (int64_t d = 0; d < size; ++d) dot += q[at + d] * k[key_at(b, j, h) + d];
            const bool valid = !masked || (valid_queries[b * length + i] > 0 && valid_keys[b * length + j] > 0);
            const bool seen = (!causal || i >= j) && valid;
            scores[j] = seen ? dot / std::sqrt(static_cast<double>(size)) : std::numeric_limits<float>::lowest();
            top = std::max(top, scores[j]);
          }
          for (double& score : scores) sum += score = std::exp(score - top);
          if (lse) lse->push_back(top + std::log(sum));
          for (int64_t j = 0; j < length; ++j) {
            const int64_t index = ((b * heads + h) * length + i) * length + j;
            double weight = scores[j] / sum;
            if (rate > 0) weight = bernoulli(random, index, static_cast<float>(1 - rate)) ? weight / (1 - rate) : 0;
            for (int64_t d = 0; d < size; ++d) result[at + d] += weight * v[key_at(b, j, h) + d];
          }
        }
      }
    }
    return result;
  }

  double loss(const std::vector<double>& q, const std::vector<double>& k, const std::vector<double>& v) const {
    const std::vector<double> out = context(q, k, v);
    double sum = 0;
    for (size_t i = 0; i < out.size(); ++i) sum += out[i] * cotangent[i];
    return sum;
  }

  // Part of an array of rows (b, s, h, d) or (b, h, s): batches, positions and heads of `box`.
  struct Box {
    int64_t b0, b, s0, s, h0, h;
  };
  Box whole() const { return {0, batch, 0, length, 0, heads}; }
  // All positions of the key heads that serve the box's heads: whole groups, or a part of one.
  Box keys_of(Box box) const {
    return {box.b0, box.b, 0, length, box.h0 / served(), std::max<int64_t>(1, box.h / served())};
  }

  template <class Visit>
  void visit(Box box, int64_t all_heads, Visit visit) const {
    for (int64_t b = box.b0; b < box.b0 + box.b; ++b)
      for (int64_t s = box.s0; s < box.s0 + box.s; ++s)
        for (int64_t h = box.h0; h < box.h0 + box.h; ++h)
          for (int64_t d = 0; d < size; ++d) visit(((b * length + s) * all_heads + h) * size + d);
  }
  std::vector<float> cut(Box box, int64_t all_heads, const std::vector<float>& from) const {
    std::vector<float> part;
    visit(box, all_heads, [&](int64_t at) { part.push_back(from[at]); });
    return part;
  }
  void add_to(std::vector<float>& sum, Box box, int64_t all_heads, const std::vector<float>& part) const {
    size_t next = 0;
    visit(box, all_heads, [&](int64_t at) { sum[at] += part[next++]; });
  }
  std::vector<int32_t> cut_mask(Box box, const std::vector<int32_t>& valid) const {
    std::vector<int32_t> part;
    for (int64_t b = box.b0; b < box.b0 + box.b; ++b) {
      part.insert(part.end(), valid.begin() + b * length + box.s0, valid.begin() + b * length + box.s0 + box.s);
    }
    return part;
  }

  void give_arrays(KernelCase& test, Box box) const {
    const Box keys = keys_of(box);
    const Shape part{box.b, box.s, box.h, size}, key_part{keys.b, keys.s, keys.h, size};
    test.input(part, cut(box, heads, query)).input_part(shape(), {box.b0, box.s0, box.h0, 0});
    for (const auto* from : {&key, &value}) {
      test.input(key_part, cut(keys, key_heads, *from)).input_part(key_shape(), {keys.b0, 0, keys.h0, 0});
    }
  }
  void give_mask(KernelCase& test, Box box) const {
    if (!masked) return;
    const Box keys = keys_of(box);
    test.input({box.b, box.s}, cut_mask(box, valid_queries)).input_part({batch, length}, {box.b0, box.s0});
    test.input({box.b, length}, cut_mask(keys, valid_keys)).input_part({batch, length}, {box.b0, 0});
  }

  struct Forward {
    std::vector<float> context, lse;
  };
  Forward forward(Box box, int threads) const {
    KernelCase test("attention", attributes());
    give_arrays(test, box);
    give_mask(test, box);
    test.output({box.b, box.s, box.h, size}).output({box.b, box.h, box.s}).run(threads, step, 2);
    if (!test.guards_intact) return {};
    return {test.result(0), test.result(1)};
  }

  // dq, dk, dv
  std::vector<std::vector<float>> backward(Box box, int threads) const {
    const Forward saved = forward(box, 1);
    KernelCase test("attention_grad", attributes());
    give_arrays(test, box);
    const Box held = keys_of(box);
    const Shape part{box.b, box.s, box.h, size}, keys{held.b, held.s, held.h, size};
    test.input(part, saved.context).input({box.b, box.h, box.s}, saved.lse).input(part, cut(box, heads, cotangent));
    give_mask(test, box);
    test.output(part).output(keys).output(keys).run(threads, step, 2);
    if (!test.guards_intact) return {};
    return {test.result(0), test.result(1), test.result(2)};
  }
};

Attention random_attention(Random& random, int trial) {
  Attention attention(random, random.integer(1, 3), trial % 5 == 4 ? random.integer(120, 290) : random.integer(1, 30),
                      random.integer(1, 3), trial % 2 ? random.integer(2, 3) : 1, random.integer(1, 20));
  if (trial % 3 == 2) attention.rate = 0.3;
  return attention;
}

}  // namespace

class KernelAttentionTest : public QObject {
  Q_OBJECT

 private slots:
  void context_and_log_sum_exp_follow_their_definition();
  void gradients_are_the_slopes();
  void threads_do_not_change_a_bit();
  void parts_of_batch_queries_and_heads_make_the_whole();
  void parts_of_queries_have_the_bits_of_the_whole();
  void every_instruction_set_finds_the_same();
  void scores_far_apart_leave_one_key();
  void not_a_number_reaches_its_row();
  void a_key_head_serves_query_heads_as_if_it_were_repeated_for_each();
  void padded_query_sees_every_key_alike_and_moves_no_score();
  void declared_workspace_suffices_for_long_sequences_and_wide_heads();
};

void KernelAttentionTest::context_and_log_sum_exp_follow_their_definition() {
  Random random(1);
  for (int trial = 0; trial < 40; ++trial) {
    const Attention attention = random_attention(random, trial);
    std::vector<double> lse;
    const std::vector<double> expected =
        attention.context(doubles(attention.query), doubles(attention.key), doubles(attention.value), &lse);
    const auto found = attention.forward(attention.whole(), 1);
    QVERIFY(difference(found.context, expected) < 3e-6);
    for (size_t i = 0; i < lse.size(); ++i) {
      QVERIFY(std::abs(found.lse[i] - lse[i]) < 1e-5 * std::max(1.0, std::abs(lse[i])));
    }
  }
}

void KernelAttentionTest::gradients_are_the_slopes() {
  Random random(2);
  for (int trial = 0; trial < 30; ++trial) {
    const Attention attention = random_attention(random, trial);
    const auto gradients = attention.backward(attention.whole(), 1);
    QCOMPARE(gradients.size(), size_t{3});
    for (int which : {0, 1, 2}) {
      double largest = 0.1;
      for (float value : gradients[which]) largest = std::max<double>(largest, std::abs(value));
      for (int probe = 0; probe < 6; ++probe) {
        std::vector<double> arrays[3] = {doubles(attention.query), doubles(attention.key), doubles(attention.value)};
        const int64_t at = random.integer(0, static_cast<int64_t>(arrays[which].size()) - 1);
        const double h = 1e-5, middle = arrays[which][at];
        arrays[which][at] = middle + h;
        const double up = attention.loss(arrays[0], arrays[1], arrays[2]);
        arrays[which][at] = middle - h;
        const double slope = (up - attention.loss(arrays[0], arrays[1], arrays[2])) / (2 * h);
        QVERIFY2(std::abs(gradients[which][at] - slope) < 1e-5 * largest,
                 qPrintable(QString("%1: %2 %3").arg(which).arg(gradients[which][at]).arg(slope)));
      }
    }
  }
}

void KernelAttentionTest::threads_do_not_change_a_bit() {
  Random random(3);
  for (int trial = 0; trial < 15; ++trial) {
    const Attention attention = random_attention(random, trial);
    QCOMPARE(attention.forward(attention.whole(), 2).context, attention.forward(attention.whole(), 1).context);
    QCOMPARE(attention.backward(attention.whole(), 2), attention.backward(attention.whole(), 1));
  }
}

void KernelAttentionTest::parts_of_batch_queries_and_heads_make_the_whole() {
  Random random(4);
  for (int trial = 0; trial < 20; ++trial) {
    const Attention attention = random_attention(random, trial);
    std::vector<float> context(attention.query.size(), 0.0f);
    std::vector<std::vector<float>> gradients;
    for (const auto* like : {&attention.query, &attention.key, &attention.value}) {
      gradients.emplace_back(like->size(), 0.0f);
    }
    auto halves = [](int64_t size) {
      std::vector<std::pair<int64_t, int64_t>> parts{{0, (size + 1) / 2}};
      if (size > 1) parts.push_back({(size + 1) / 2, size / 2});
      return parts;
    };
    for (auto [b0, b] : halves(attention.batch)) {
      for (auto [s0, s] : halves(attention.length)) {
        // Whole groups of query heads, or parts of the only one.
        const int64_t unit = attention.key_heads > 1 ? attention.served() : 1;
        for (auto [h0, h] : halves(attention.heads / unit)) {
          const Attention::Box box{b0, b, s0, s, h0 * unit, h * unit};
          attention.add_to(context, box, attention.heads, attention.forward(box, 1).context);
          const auto parts = attention.backward(box, 2);
          QCOMPARE(parts.size(), size_t{3});
          attention.add_to(gradients[0], box, attention.heads, parts[0]);
          for (int i : {1, 2}) attention.add_to(gradients[i], attention.keys_of(box), attention.key_heads, parts[i]);
        }
      }
    }
    QVERIFY(difference(context, doubles(attention.forward(attention.whole(), 1).context)) < 1e-6);
    const auto whole = attention.backward(attention.whole(), 1);
    // The terms of a gradient are about 1, even where they cancel.
    for (int i : {0, 1, 2}) QVERIFY(difference(gradients[i], doubles(whole[i]), 1) < 3e-6);
  }
}

void KernelAttentionTest::parts_of_queries_have_the_bits_of_the_whole() {
  Random random(8);
  for (int trial = 0; trial < 20; ++trial) {
    const Attention attention = random_attention(random, trial);
    const Attention::Forward whole = attention.forward(attention.whole(), 1);
    const std::vector<float> dquery = attention.backward(attention.whole(), 1)[0];
    Attention::Box box = attention.whole();
    box.s0 = random.integer(0, attention.length - 1);
    box.s = random.integer(1, attention.length - box.s0);
    const Attention::Forward part = attention.forward(box, 1);
    QCOMPARE(part.context, attention.cut(box, attention.heads, whole.context));
    for (int64_t row = 0; row < attention.batch * attention.heads; ++row) {
      for (int64_t i = 0; i < box.s; ++i) {
        QVERIFY(part.lse[row * box.s + i] == whole.lse[row * attention.length + box.s0 + i]);
      }
    }
    QCOMPARE(attention.backward(box, 1)[0], attention.cut(box, attention.heads, dquery));
  }
}

void KernelAttentionTest::every_instruction_set_finds_the_same() {
  Random random(9);
  for (int trial = 0; trial < 15; ++trial) {
    const Attention attention = random_attention(random, trial);
    const auto context = doubles(attention.forward(attention.whole(), 1).context);
    const auto gradients = attention.backward(attention.whole(), 1);
    for (InstructionSet set : {InstructionSet::baseline, InstructionSet::v3, InstructionSet::v4}) {
      limit_instruction_set(set);
      const auto limited = attention.forward(attention.whole(), 1);
      const auto limited_gradients = attention.backward(attention.whole(), 1);
      limit_instruction_set(processor_instruction_set());
      QVERIFY(difference(limited.context, context) < 2e-6);
      for (int i : {0, 1, 2}) QVERIFY(difference(limited_gradients[i], doubles(gradients[i]), 1) < 3e-6);
    }
  }
}

void KernelAttentionTest::scores_far_apart_leave_one_key() {
  Random random(10);
  for (float far : {300.0f, 1e6f, 1e18f}) {
    Attention attention(random, 1, 70, 1, 1, 1);
    attention.causal = attention.masked = false;
    for (int64_t i = 0; i < attention.length; ++i) {
      attention.query[i] = i % 2 ? far : -far;
      attention.key[i] = i < 35 ? i : 34 - i;
    }
    const auto found = attention.forward(attention.whole(), 1);
    for (int64_t i = 0; i < attention.length; ++i) {
      QVERIFY(found.context[i] == attention.value[i % 2 ? 34 : 69]);
      QCOMPARE(found.lse[i], far * (i % 2 ? 34 : 35));
    }
    for (const auto& gradient : attention.backward(attention.whole(), 1)) {
      for (float value : gradient) QVERIFY(std::isfinite(value));
    }
  }
}

void KernelAttentionTest::not_a_number_reaches_its_row() {
  Random random(11);
  Attention attention(random, 1, 70, 1, 1, 4);
  attention.causal = attention.masked = false;
  attention.query[4 * 40 + 1] = std::numeric_limits<float>::quiet_NaN();
  const auto found = attention.forward(attention.whole(), 1);
  for (int64_t i = 0; i < 70 * 4; ++i) QCOMPARE(std::isnan(found.context[i]), i / 4 == 40);
  for (int64_t i = 0; i < 70; ++i) QCOMPARE(std::isnan(found.lse[i]), i == 40);
  const auto gradients = attention.backward(attention.whole(), 1);
  for (int64_t i = 0; i < 70 * 4; ++i) QCOMPARE(std::isnan(gradients[0][i]), i / 4 == 40);
  for (int which : {1, 2}) {
    for (float value : gradients[which]) QVERIFY(std::isnan(value));
  }
}

void KernelAttentionTest::a_key_head_serves_query_heads_as_if_it_were_repeated_for_each() {
  Random random(7);
  for (int trial = 0; trial < 12; ++trial) {
    Attention shared(random, 2, random.integer(1, 40), random.integer(1, 3), random.integer(2, 4), 6);
    if (trial % 3 == 2) shared.rate = 0.3;
    Attention repeated = shared;
    repeated.key_heads = shared.heads;
    for (auto [from, to] : {std::pair(&shared.key, &repeated.key), std::pair(&shared.value, &repeated.value)}) {
      to->clear();
      for (int64_t row = 0; row < shared.batch * shared.length; ++row) {
        for (int64_t h = 0; h < shared.heads; ++h) {
          const auto begin = from->begin() + (row * shared.key_heads + h / shared.served()) * shared.size;
          to->insert(to->end(), begin, begin + shared.size);
        }
      }
    }
    const auto one = shared.forward(shared.whole(), 1), other = repeated.forward(repeated.whole(), 1);
    QVERIFY(difference(one.context, doubles(other.context)) < 1e-6);
    QVERIFY(difference(one.lse, doubles(other.lse)) < 1e-6);
    const auto gradients = shared.backward(shared.whole(), 1), others = repeated.backward(repeated.whole(), 1);
    QVERIFY(difference(gradients[0], doubles(others[0])) < 1e-6);
    for (int i : {1, 2}) {
      std::vector<double> sum(gradients[i].size(), 0.0);
      for (size_t at = 0; at < others[i].size(); ++at) {
        const int64_t d = static_cast<int64_t>(at) % shared.size, head = static_cast<int64_t>(at) / shared.size;
        const int64_t row = head / shared.heads, h = head % shared.heads;
        sum[(row * shared.key_heads + h / shared.served()) * shared.size + d] += others[i][at];
      }
      QVERIFY(difference(gradients[i], sum) < 3e-6);
    }
  }
}

void KernelAttentionTest::padded_query_sees_every_key_alike_and_moves_no_score() {
  Random random(5);
  for (bool causal : {false, true}) {
    Attention attention(random, 1, 150, 1, 1, 8);
    attention.causal = causal;
    attention.masked = true;
    std::fill(attention.valid_queries.begin(), attention.valid_queries.end(), 0);
    const auto found = attention.forward(attention.whole(), 1);
    for (int64_t d = 0; d < 8; ++d) {
      double mean = 0;
      for (int64_t k = 0; k < 150; ++k) mean += attention.value[k * 8 + d] / 150.0;
      for (int64_t q = 0; q < 150; ++q) QVERIFY(std::abs(found.context[q * 8 + d] - mean) < 1e-6);
    }
    const auto gradients = attention.backward(attention.whole(), 1);
    for (int which : {0, 1}) {
      for (float value : gradients[which]) QCOMPARE(value, 0.0f);
    }
  }
}

void KernelAttentionTest::declared_workspace_suffices_for_long_sequences_and_wide_heads() {
  Random random(6);
  for (int trial = 0; trial < 12; ++trial) {
    const Attention attention(random, 1, random.integer(1, trial % 2 ? 700 : 200), 1, 1, random.integer(1, 260));
    const Attention::Box box{0, 1, 0, random.integer(1, attention.length), 0, 1};
    QVERIFY(!attention.forward(box, 1).context.empty());
    QVERIFY(!attention.backward(box, 1).empty());
  }
}

REGISTER_TEST(KernelAttentionTest)

}  // namespace kernel_attention_test

#include "kernel_attention_test.moc"
