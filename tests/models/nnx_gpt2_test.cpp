#include "models/nnx_gpt2.h"

#include <QTest>

#include "engine/ops/dropout.h"
#include "engine/ops/initialise.h"
#include "tests/test_program.h"

namespace nnx_gpt2_test {

using namespace shardscope;

namespace {

OptionList options_with(double dropout_rate) {
  return {{"vocab_size", int64_t{32}},    {"seq_len", int64_t{8}},   {"embed_dim", int64_t{16}},
          {"ff_dim", int64_t{24}},        {"num_heads", int64_t{4}}, {"num_layers", int64_t{2}},
          {"dropout_rate", dropout_rate}, {"tied_embedding", false}, {"compute_dtype", std::string("f32")}};
}

Graph build(double dropout_rate, bool deterministic = false) {
  return nnx_gpt2().build(options_with(dropout_rate), {4, deterministic, 9});
}

const InitialiseAttributes& first_value(const Graph& graph, const State& state) {
  return graph.ops[graph.values[state.initial].producer].attributes.as<InitialiseAttributes>();
}

// How many keys the original has drawn before it draws the first of this parameter's module: two embeddings draw one
// each; a block 16 and one more for each of its two dropouts.
std::map<std::string, uint32_t> drawn_before() {
  std::map<std::string, uint32_t> drawn{{"params/token_emb/embedding", 0}, {"params/pos_emb/embedding", 1}};
  for (uint32_t block = 0; block < 2; ++block) {
    const std::string name = "params/blocks/" + std::to_string(block) + "/";
    const uint32_t first = 2 + 18 * block;
    drawn[name + "mha/query/kernel"] = first + 2;
    drawn[name + "mha/key/kernel"] = first + 4;
    drawn[name + "mha/value/kernel"] = first + 6;
    drawn[name + "mha/out/kernel"] = first + 8;
    drawn[name + "linear1/kernel"] = first + 13;
    drawn[name + "linear2/kernel"] = first + 15;
  }
  drawn["params/head/kernel"] = 40;
  return drawn;
}

}  // namespace

class NnxGpt2Test : public QObject {
  Q_OBJECT

 private slots:
  void parameters_have_the_keys_that_nnx_draws_whether_or_not_anything_is_dropped() {
    const std::map<std::string, uint32_t> drawn = drawn_before();
    for (const Graph& graph : {build(0.1), build(0), build(0.1, true)}) {
      size_t found = 0;
      for (const State& state : graph.states) {
        const InitialiseAttributes& made = first_value(graph, state);
        if (made.kind == InitialiseAttributes::Kind::constant) continue;
        const auto at = drawn.find(graph.name(state));
        QVERIFY2(at != drawn.end(), graph.name(state).c_str());
        QVERIFY2(made.key == nnx_key(9, at->second), graph.name(state).c_str());
        QCOMPARE(graph.values[state.before].logical.size(), made.type.shape.size());
        ++found;
      }
      QCOMPARE(found, drawn.size());
    }
  }

  void each_dropout_has_a_key_of_its_own_that_counts_its_calls() {
    const Graph graph = build(0.3);
    std::vector<uint32_t> numbers;
    for (const Op& op : graph.ops) {
      if (!op.attributes.are<DropoutAttributes>()) continue;
      const DropoutAttributes& dropout = op.attributes.as<DropoutAttributes>();
      QCOMPARE(dropout.rate, 0.3);
      for (uint32_t number = 0; number < 40; ++number) {
        if (dropout.key.key == nnx_key(9, number)) numbers.push_back(number);
      }
      QVERIFY(key_at(dropout.key, 5) == fold_in(dropout.key.key, 5));
    }
    QCOMPARE(numbers, (std::vector<uint32_t>{12, 19, 30, 37}));
    for (const Graph& none : {build(0), build(0.3, true)}) {
      for (const Op& op : none.ops) QVERIFY(!op.attributes.are<DropoutAttributes>());
    }
  }

  void heads_must_divide_the_width_and_the_hint_does() {
    for (int64_t heads = 1; heads <= 20; ++heads) {
      OptionList options = options_with(0);
      options[4].second = heads;
      const std::vector<Error> errors = nnx_gpt2().check(options);
      QCOMPARE(errors.empty(), 16 % heads == 0);
      if (errors.empty()) continue;
      QCOMPARE(to_string(errors[0].place), std::string("model.embed_dim"));
      QCOMPARE(std::stoll(errors[0].hint.substr(std::string("for example ").size())) % heads, 0);
    }
  }
};

REGISTER_TEST(NnxGpt2Test)

}  // namespace nnx_gpt2_test

#include "nnx_gpt2_test.moc"
