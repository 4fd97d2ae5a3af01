#include "models/sequential.h"

#include <QTest>

#include <map>
#include <random>

#include "engine/graph/op_definition.h"
#include "models/layer_list.h"
#include "tests/test_program.h"

namespace sequential_test {

using namespace shardscope;

namespace {

const TextList document = {"linear 512", "relu", "linear 512", "relu", "linear 256", "relu",
                           "linear 256", "relu", "linear 128", "relu", "linear 10"};

Graph graph_of(const std::string& input, const TextList& layers) {
  return sequential().build({{"input", input}, {"layers", layers}, {"compute_dtype", std::string("f32")}},
                            {32, true, 0});
}

std::vector<Error> errors_of_layers(const std::string& input, const TextList& layers) {
  return sequential().check({{"input", input}, {"layers", layers}, {"compute_dtype", std::string("f32")}});
}

}  // namespace

class SequentialTest : public QObject {
  Q_OBJECT

 private slots:
  void the_documents_layers_have_its_shapes() {
    const Graph graph = graph_of("784", document);
    std::string shapes;
    for (const State& state : graph.states)
      shapes += graph.name(state) + " " + to_string(graph.type(state.before).shape) + "\n";
    QCOMPARE(shapes, std::string("params/layers/0/kernel (784, 512)\nparams/layers/0/bias (512,)\n"
                                 "params/layers/1/kernel (512, 512)\nparams/layers/1/bias (512,)\n"
                                 "params/layers/2/kernel (512, 256)\nparams/layers/2/bias (256,)\n"
                                 "params/layers/3/kernel (256, 256)\nparams/layers/3/bias (256,)\n"
                                 "params/layers/4/kernel (256, 128)\nparams/layers/4/bias (128,)\n"
                                 "params/layers/5/kernel (128, 10)\nparams/layers/5/bias (10,)\n"));
    QVERIFY(graph.type(graph.outputs.at("predictions")) == (TensorType{{32, 10}, DType::f32}));
    QVERIFY(graph.type(graph.inputs.at("targets")) == (TensorType{{32, 10}, DType::f32}));
  }

  // Stages are cut between layers: each op says which it is part of, in order, and the loss is part of none.
  void every_op_says_its_layer_and_layers_follow_each_other() {
    const Graph graph = graph_of("784", document);
    int last = 0;
    for (const Op& op : graph.ops) {
      if (op.phase != Phase::forward) continue;
      const bool of_loss = op.name.starts_with("loss/");
      QCOMPARE(op.place.layer >= 0, !of_loss);
      if (of_loss) continue;
      QVERIFY(op.place.layer == last || op.place.layer == last + 1);
      QVERIFY2(op.name.starts_with("layers/" + std::to_string(op.place.layer) + "/"), op.name.c_str());
      last = op.place.layer;
    }
    QCOMPARE(last, 5);
  }

  void what_stands_before_the_first_layer_is_part_of_it() {
    std::vector<Error> errors;
    const std::vector<ListedLayer> layers = read_layers("4x4x3", {"flatten", "relu", "linear 5", "relu"}, errors);
    QVERIFY(errors.empty());
    for (const ListedLayer& layer : layers) QCOMPARE(layer.number, 0);
    QVERIFY((layers[0].after.shape == Shape{48} && layers[3].after.shape == Shape{5}));
  }

  void convolutions_give_pictures_of_the_shapes_that_flax_gives() {
    const std::vector<std::pair<std::string, Shape>> cases = {{"conv 5 3x3", {9, 12, 5}},
                                                              {"conv 5 3x3 stride 2", {5, 6, 5}},
                                                              {"conv 5 3x3 stride 2x1", {5, 12, 5}},
                                                              {"conv 5 3x4 valid", {7, 9, 5}},
                                                              {"conv 5 3x3 valid stride 2", {4, 5, 5}},
                                                              {"conv 5 1x1 same stride 3", {3, 4, 5}},
                                                              {"conv 5 9x12 valid", {1, 1, 5}}};
    for (const auto& [layer, expected] : cases) {
      const Graph graph = graph_of("9x12x3", {layer, "relu", "flatten", "linear 2"});
      std::vector<Error> errors;
      const std::vector<ListedLayer> layers = read_layers("9x12x3", {layer, "relu", "flatten", "linear 2"}, errors);
      QVERIFY2(layers[0].after.shape == expected, layer.c_str());
      QVERIFY(graph.type(graph.outputs.at("predictions")).shape == (Shape{32, 2}));
    }
  }

  void activations_keep_the_shape_and_a_gate_halves_the_width() {
    for (const std::string layer : {"relu", "silu", "gelu", "gelu_exact", "soft_cap 30", "gated_silu"}) {
      for (const std::string input : {"6", "2x3x6"}) {
        const Graph graph = graph_of(input, {"linear 8", layer});
        const int64_t width = layer == "gated_silu" ? 4 : 8;
        QCOMPARE(graph.type(graph.outputs.at("predictions")).shape.back(), width);
        const std::string op = layer.substr(0, layer.find(' '));
        QVERIFY2(std::ranges::any_of(
                     graph.ops,
                     [&](const Op& one) { return one.definition->name() == (op == "gated_silu" ? "multiply" : op); }),
                 layer.c_str());
      }
    }
  }

  void layers_take_what_they_name() {
    struct Case {
      std::string input;
      TextList layers;
      Shape result;
      std::vector<std::string> ops;
    };
    for (const Case& one : std::vector<Case>{
             {"6", {"h = linear 8", "silu", "multiply h"}, {32, 8}, {"multiply"}},
             {"6", {"h = linear 6", "add input"}, {32, 6}, {"add"}},
             {"6", {"linear 8", "concatenate input"}, {32, 14}, {"concatenate"}},
             {"2x3x6", {"a = linear 8", "b = relu", "concatenate a b"}, {32, 2, 3, 24}, {"concatenate"}},
             {"4x6", {"linear 8", "slice 2:5"}, {32, 4, 3}, {"split"}},
             {"4x6", {"linear 8", "slice :5"}, {32, 4, 5}, {"split"}},
             {"6", {"linear 8", "slice 7:"}, {32, 1}, {"split"}},
             {"4x6", {"linear 8", "rotary"}, {32, 4, 8}, {"rotary"}},
             {"4x6", {"linear 8", "rotary heads 2 base 500"}, {32, 4, 8}, {"rotary"}},
             {"4x2x6", {"linear 8", "rotary"}, {32, 4, 2, 8}, {"rotary"}},
             {"4x6", {"linear 8", "flatten"}, {32, 32}, {"rearrange"}},
             {"6",
              {"x = linear 8", "linear 4", "r = top_k 2", "dispatch r from x", "expert_linear 5", "combine"},
              {32, 5},
              {"top_k", "dispatch", "grouped_linear", "combine", "weighted_sum", "expert_load"}},
             {"3x6",
              {"r = top_k 2 sigmoid", "dispatch r from input capacity 1.5", "a = expert_linear 5", "silu", "multiply a",
               "combine"},
              {32, 3, 5},
              {"top_k", "dispatch", "multiply", "combine"}}}) {
      const Graph graph = graph_of(one.input, one.layers);
      const Value& made = graph.values[graph.outputs.at("predictions")];
      QVERIFY2(made.type.shape == one.result, (one.layers.back() + " " + to_string(made.type.shape)).c_str());
      QCOMPARE(made.logical.size(), one.result.size());
      for (const std::string& name : one.ops) {
        QVERIFY2(std::ranges::any_of(graph.ops, [&](const Op& op) { return op.definition->name() == name; }),
                 name.c_str());
      }
    }
  }

  void a_slice_has_the_elements_that_it_names() {
    for (const auto& [slice, part] : std::map<std::string, int>{{"slice 2:5", 1}, {"slice :5", 0}, {"slice 7:", 1}}) {
      const Graph graph = graph_of("6", {"linear 8", slice});
      const Value& made = graph.values[graph.outputs.at("predictions")];
      QCOMPARE(made.result_index, part);
    }
  }

  void tokens_by_expert_are_counted_for_each_dispatch() {
    const Graph graph =
        graph_of("6", {"x = linear 8", "linear 4", "r = top_k 2", "dispatch r from x", "expert_linear 8", "combine",
                       "dispatch r capacity 1", "expert_linear 8", "combine"});
    QCOMPARE(graph.expert_counts.size(), size_t{2});
    QVERIFY(graph.expert_counts[0].layer != graph.expert_counts[1].layer);
    QVERIFY(graph.expert_counts[0].dropped == no_id && graph.expert_counts[1].dropped != no_id);
  }

  void a_linear_layer_of_pictures_is_over_their_channels() {
    const Graph graph = graph_of("4x6x3", {"linear 5"});
    QVERIFY(graph.type(graph.outputs.at("predictions")).shape == (Shape{32, 4, 6, 5}));
    QVERIFY((graph.values[graph.outputs.at("predictions")].logical ==
             std::vector<std::string>{"batch", "height", "width", "features"}));
  }

  void bf16_is_of_linear_layers_and_that_convolutions_stay_is_reported() {
    const auto options = [](const char* layer, const char* type) {
      return OptionList{
          {"input", std::string("4x6x3")}, {"layers", TextList{layer}}, {"compute_dtype", std::string(type)}};
    };
    const Graph graph = sequential().build(options("linear 5", "bf16"), {32, true, 0});
    QVERIFY(std::ranges::any_of(graph.values, [](const Value& value) { return value.type.dtype == DType::bf16; }));
    QCOMPARE(graph.type(graph.outputs.at("predictions")).dtype, DType::f32);
    QVERIFY(sequential().notes(options("linear 5", "bf16")).empty());
    QVERIFY(sequential().notes(options("conv 5 3x3", "f32")).empty());
    const std::vector<Error> notes = sequential().notes(options("conv 5 3x3", "bf16"));
    QCOMPARE(notes.size(), size_t{1});
    QCOMPARE(to_string(notes[0].place), std::string("model.compute_dtype"));
  }

  void any_list_is_refused_at_its_place_or_builds() {
    const std::vector<std::string> kinds{"linear 6",        "linear 8",        "relu",
                                         "gated_silu",      "flatten",         "add h",
                                         "multiply g",      "concatenate h g", "slice 1:5",
                                         "slice :4",        "rotary",          "rotary heads 2",
                                         "top_k 2",         "dispatch r",      "dispatch r capacity 1.5",
                                         "expert_linear 8", "combine",         "conv 4 3x3",
                                         "soft_cap 3"};
    const std::vector<std::string> names{"", "", "", "h = ", "g = ", "r = "},
        sources{"", "", "", " from h", " from input"};
    std::mt19937 random(7);
    const auto one_of = [&](const std::vector<std::string>& list) { return list[random() % list.size()]; };
    int built = 0;
    for (int i = 0; i < 30000; ++i) {
      const std::string input = one_of({"8", "8x6", "4x6x8"});
      TextList layers;
      for (size_t n = 1 + random() % 7; n > 0; --n) layers.push_back(one_of(names) + one_of(kinds) + one_of(sources));
      const std::vector<Error> errors = errors_of_layers(input, layers);
      for (const Error& error : errors) QVERIFY(to_string(error.place).starts_with("model.layers"));
      if (!errors.empty()) continue;
      ++built;
      const Graph graph = graph_of(input, layers);
      verify(graph);
      std::vector<Error> none;
      Shape result = read_layers(input, layers, none).back().after.shape;
      result.insert(result.begin(), 32);
      QVERIFY(graph.type(graph.outputs.at("predictions")).shape == result);
    }
    QVERIFY(built > 300);
  }

  void each_fault_is_reported_at_its_entry_with_what_would_be_right() {
    struct Case {
      std::string input;
      TextList layers;
      std::string place, code, hint;
    };
    for (const Case& bad :
         std::vector<Case>{{"784", {"linear 8", "liner 4"}, "model.layers[1]", "unknown_layer", "'linear'"},
                           {"784", {"linear 8", "relu", ""}, "model.layers[2]", "layer", "linear 512"},
                           {"784", {"linear"}, "model.layers[0]", "layer", "linear 512"},
                           {"784", {"linear 0"}, "model.layers[0]", "layer", "linear 512"},
                           {"784", {"linear 8 8"}, "model.layers[0]", "layer", "linear 512"},
                           {"784", {"linear 99999999999999999999"}, "model.layers[0]", "layer", "linear 512"},
                           {"784", {"relu 3"}, "model.layers[0]", "layer", "relu"},
                           {"784", {"silu 3"}, "model.layers[0]", "layer", "silu"},
                           {"784", {"soft_cap"}, "model.layers[0]", "layer", "soft_cap 30"},
                           {"784", {"soft_cap -1"}, "model.layers[0]", "layer", "soft_cap 30"},
                           {"784", {"soft_cap nan"}, "model.layers[0]", "layer", "soft_cap 30"},
                           {"784", {"linear 7", "gated_silu"}, "model.layers[1]", "layer", "even width"},
                           {"784", {"flatten"}, "model.layers[0]", "layer", "leave it out"},
                           {"784", {"h ="}, "model.layers[0]", "layer", "linear 512"},
                           {"784", {"2h = linear 8"}, "model.layers[0]", "layer", "h = linear 512"},
                           {"784", {"input = linear 8"}, "model.layers[0]", "layer", "is the example"},
                           {"784", {"h = linear 8", "h = relu"}, "model.layers[1]", "layer", "of its own"},
                           {"784", {"linear 8 from"}, "model.layers[0]", "layer", "silu from h"},
                           {"784", {"head = linear 8", "relu from haed"}, "model.layers[1]", "unknown_name", "'head'"},
                           {"784", {"relu from h", "h = linear 8"}, "model.layers[0]", "unknown_name", "input"},
                           {"784", {"h = linear 8", "add h h"}, "model.layers[1]", "layer", "add a"},
                           {"784", {"h = linear 8", "multiply"}, "model.layers[1]", "layer", "multiply a"},
                           {"784", {"linear 8", "add input"}, "model.layers[1]", "layer", "same shape"},
                           {"4x8", {"linear 8", "flatten", "concatenate input"}, "model.layers[2]", "layer", "last"},
                           {"784", {"linear 8", "concatenate"}, "model.layers[1]", "layer", "concatenate a b"},
                           {"784", {"linear 8", "slice"}, "model.layers[1]", "layer", "slice 0:4"},
                           {"784", {"linear 8", "slice 4"}, "model.layers[1]", "layer", "slice 0:4"},
                           {"784", {"linear 8", "slice 4:4"}, "model.layers[1]", "layer", "slice 0:4"},
                           {"784", {"linear 8", "slice 4:9"}, "model.layers[1]", "layer", "slice 0:4"},
                           {"784", {"linear 8", "slice -4:"}, "model.layers[1]", "layer", "slice 0:4"},
                           {"784", {"linear 8", "rotary"}, "model.layers[1]", "layer", "16x64"},
                           {"4x8", {"linear 8", "rotary heads"}, "model.layers[1]", "layer", "rotary heads 4"},
                           {"4x8", {"linear 8", "rotary heads 3"}, "model.layers[1]", "layer", "even size"},
                           {"4x8", {"linear 7", "rotary"}, "model.layers[1]", "layer", "even size"},
                           {"4x2x8", {"linear 8", "rotary heads 2"}, "model.layers[1]", "layer", "rotary heads 4"},
                           {"784", {"linear 8", "top_k"}, "model.layers[1]", "layer", "top_k 2"},
                           {"784", {"linear 8", "top_k 9"}, "model.layers[1]", "layer", "as many"},
                           {"784", {"linear 8", "top_k 2 softmax"}, "model.layers[1]", "layer", "normalised"},
                           {"2x2x8", {"linear 8", "top_k 2"}, "model.layers[1]", "layer", "flatten"},
                           {"784", {"linear 8", "top_k 2"}, "model.layers[1]", "layer", "combine"},
                           {"784", {"linear 8", "top_k 2", "linear 8"}, "model.layers[2]", "layer", "dispatch"},
                           {"784", {"h = linear 8", "dispatch h"}, "model.layers[1]", "layer", "dispatch r from x"},
                           {"784",
                            {"h = linear 8", "r = top_k 2", "dispatch r from h", "linear 8"},
                            "model.layers[3]",
                            "layer",
                            "expert_linear 512"},
                           {"784",
                            {"h = linear 8", "r = top_k 2", "dispatch r from h", "expert_linear 8", "add h"},
                            "model.layers[4]",
                            "layer",
                            "combine"},
                           {"784",
                            {"h = linear 8", "r = top_k 2", "dispatch r from h", "expert_linear 8"},
                            "model.layers[3]",
                            "layer",
                            "combine"},
                           {"4x8",
                            {"h = linear 8", "r = top_k 2", "f = flatten from h", "dispatch r from f"},
                            "model.layers[3]",
                            "layer",
                            "same rows"},
                           {"784",
                            {"h = linear 8", "r = top_k 2", "dispatch r from h capacity 0"},
                            "model.layers[2]",
                            "layer",
                            "capacity 1.25"},
                           {"784", {"linear 8", "expert_linear 8"}, "model.layers[1]", "layer", "dispatch r from x"},
                           {"784", {"linear 8", "combine"}, "model.layers[1]", "layer", "dispatch r from x"},
                           {"784", {"linear 8", "linear 8 from input"}, "model.layers[0]", "unused_layer", "add h"},
                           {"784", {"conv 8 3x3"}, "model.layers[0]", "layer", "28x28x1"},
                           {"8x8x1", {"conv 8"}, "model.layers[0]", "layer", "conv 16 3x3"},
                           {"8x8x1", {"conv 8 3"}, "model.layers[0]", "layer", "conv 16 3x3"},
                           {"8x8x1", {"conv 8 3x3 stride"}, "model.layers[0]", "layer", "stride 2"},
                           {"8x8x1", {"conv 8 3x3 stride 0"}, "model.layers[0]", "layer", "stride 2"},
                           {"8x8x1", {"conv 8 3x3 padded"}, "model.layers[0]", "layer", "valid"},
                           {"8x8x1", {"relu", "conv 8 9x3 valid"}, "model.layers[1]", "conv", "same"},
                           {"1000x1000x3", {"linear 100"}, "model.layers[0]", "layer", "10000000"},
                           {"784", {"relu"}, "model.layers", "layer", "linear 512"},
                           {"784", {}, "model.layers", "layer", "linear 512"},
                           {"784", TextList(10001, "relu"), "model.layers", "out_of_range", "10000"},
                           {"", {"linear 8"}, "model.input", "input_shape", "784"},
                           {"28x28x1x1", {"linear 8"}, "model.input", "input_shape", "28x28x1"},
                           {"28x28x", {"linear 8"}, "model.input", "input_shape", "28x28x1"},
                           {"-3", {"linear 8"}, "model.input", "input_shape", "784"},
                           {"10000x10000x1000", {"linear 8"}, "model.input", "input_shape", "784"}}) {
      const std::vector<Error> errors = errors_of_layers(bad.input, bad.layers);
      const std::string what = bad.input + " " + (bad.layers.empty() ? "" : bad.layers.back());
      QVERIFY2(errors.size() == 1, what.c_str());
      QCOMPARE(to_string(errors[0].place), bad.place);
      QCOMPARE(errors[0].code, bad.code);
      QVERIFY2(errors[0].hint.find(bad.hint) != std::string::npos, errors[0].hint.c_str());
    }
    QVERIFY(errors_of_layers("784", document).empty());
  }
};

REGISTER_TEST(SequentialTest)

}  // namespace sequential_test

#include "sequential_test.moc"
