#include "models/tiny_lm.h"

#include <QTest>

#include "engine/graph/op_definition.h"
#include "tests/test_program.h"

namespace tiny_lm_test {

using namespace shardscope;

namespace {

OptionList options_with(int64_t width, int64_t heads) {
  return {{"vocab_size", int64_t{32}},
          {"seq_len", int64_t{8}},
          {"d_model", width},
          {"n_heads", heads},
          {"n_layers", int64_t{2}},
          {"d_ff", int64_t{24}},
          {"compute_dtype", std::string("f32")}};
}

}  // namespace

class TinyLmTest : public QObject {
  Q_OBJECT

 private slots:
  void it_takes_tokens_alone_and_makes_their_labels() {
    const Graph graph = tiny_lm().build(options_with(16, 4), {4, true, 0});
    QCOMPARE(graph.inputs.size(), size_t{1});
    QCOMPARE(graph.limits.at("tokens"), int64_t{32});
    QVERIFY(graph.type(graph.outputs.at("logits")) == (TensorType{{4, 8, 32}, DType::f32}));
    QVERIFY((graph.values[graph.outputs.at("logits")].logical == std::vector<std::string>{"batch", "length", "vocab"}));
  }

  void only_the_mlp_and_the_norms_have_biases() {
    const Graph graph = tiny_lm().build(options_with(16, 4), {4, true, 0});
    for (const State& state : graph.states) {
      if (state.path.back() != "bias") continue;
      const std::string& module = state.path[state.path.size() - 2];
      QVERIFY2(module.starts_with("Dense_") || module.starts_with("LayerNorm_") || module == "ln_f",
               graph.name(state).c_str());
    }
  }

  void width_is_even_and_a_multiple_of_heads_and_the_hints_are() {
    for (int64_t width = 1; width <= 12; ++width) {
      for (int64_t heads = 1; heads <= 12; ++heads) {
        const std::vector<Error> errors = tiny_lm().check(options_with(width, heads));
        QCOMPARE(errors.empty(), width % heads == 0 && width % 2 == 0);
        for (const Error& error : errors) {
          QCOMPARE(to_string(error.place), std::string("model.d_model"));
          const int64_t hinted = std::stoll(error.hint.substr(std::string("for example ").size()));
          QCOMPARE(hinted % (error.message.ends_with("pairs") ? 2 : heads), int64_t{0});
        }
      }
    }
  }
};

REGISTER_TEST(TinyLmTest)

}  // namespace tiny_lm_test

#include "tiny_lm_test.moc"
