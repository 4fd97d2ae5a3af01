#include <QTest>
#include <cmath>
#include <fstream>
#include <numeric>
#include <random>

#include <nlohmann/json.hpp>

#include "engine/mesh/sharding.h"
#include "engine/ops/initialise.h"
#include "engine/ops/registry.h"
#include "engine/runtime/box_runs.h"
#include "engine/runtime/kernels/kernel.h"
#include "models/linen.h"
#include "models/registry.h"

using namespace shardscope;
using Json = nlohmann::json;

namespace {

Json golden(const std::string& file) {
  return Json::parse(std::ifstream(SHARDSCOPE_SOURCE_DIR "/tests/golden/" + file));
}

// The elements of `box` of the array that these attributes describe.
std::vector<float> drawn(const Attributes& attributes, const Box& box) {
  std::vector<float> values(element_count(box.size));
  const Shape& whole = attributes.as<InitialiseAttributes>().type.shape;
  KernelArguments arguments;
  arguments.attributes = &attributes;
  arguments.outputs = {{values.data(), DType::f32, box.size, whole, box.start}};
  kernel_factory("initialise")(arguments)->run({});
  return values;
}

std::vector<float> drawn(const Attributes& attributes) {
  const Shape& shape = attributes.as<InitialiseAttributes>().type.shape;
  return drawn(attributes, {std::vector<int64_t>(shape.size(), 0), shape});
}

// Of the op that makes a state's first value.
const Attributes& initialiser(const Graph& graph, const State& state) {
  return graph.ops[graph.values[state.initial].producer].attributes;
}

// The first values of a dense layer's kernel.
std::vector<float> dense_kernel(int64_t seed, const std::string& module) {
  Graph graph;
  const ValueId x = graph.add_input("x", {{2, 3, 8}, DType::f32});
  Linen(graph, seed).child(module).dense(x, "bse,ef->bsf", {8, 8}, {"embed", "mlp"});
  return drawn(initialiser(graph, graph.states[0]));
}

bool close(double actual, double expected) {
  return std::abs(actual - expected) <= 1e-6 * std::max(1.0, std::abs(expected));
}
bool near(double actual, double expected) { return std::abs(actual - expected) <= 1e-6 * std::abs(expected) + 1e-9; }

}  // namespace

class ParameterInitTest : public QObject {
  Q_OBJECT

 private slots:
  void a_decoders_parameters_start_as_flax_starts_them() {
    const Json file = golden("parallax_decoder.json");
    const OptionList options{{"vocab_size", int64_t{1024}}, {"seq_len", int64_t{128}}, {"embed_dim", int64_t{512}},
                             {"num_layers", int64_t{2}},    {"num_heads", int64_t{8}}, {"dropout_rate", 0.1}};
    const Graph graph = find_model("decoder_only_transformer")->build(options, {1, true, file["seed"]});
    QCOMPARE(graph.states.size(), file["initial"].size());
    int random = 0;
    for (const State& state : graph.states) {
      const std::string path = graph.name(state);
      const Json& expected = file["initial"][path];
      const Attributes& attributes = initialiser(graph, state);
      const std::vector<float> values = drawn(attributes);
      QCOMPARE(attributes.as<InitialiseAttributes>().type.shape, expected["shape"].get<Shape>());
      for (size_t i = 0; i < expected["first"].size(); ++i) {
        QVERIFY2(near(values[i], expected["first"][i]), path.c_str());
      }
      QVERIFY2(near(values.back(), expected["last"]), path.c_str());
      double sum = 0, squares = 0;
      for (float value : values) sum += value, squares += double(value) * value;
      QVERIFY2(close(sum, expected["sum"]), path.c_str());
      QVERIFY2(close(squares, expected["sumsq"]), path.c_str());
      random += attributes.as<InitialiseAttributes>().kind != InitialiseAttributes::Kind::constant;
    }
    QVERIFY(random >= 15);
  }

  void every_shard_is_the_same_part_of_the_whole_array() {
    std::mt19937 random(1);
    for (int repeat = 0; repeat < 300; ++repeat) {
      Shape shape(1 + random() % 3);
      Box box;
      for (int64_t& size : shape) {
        size = 1 + random() % 40;
        box.start.push_back(random() % size);
        box.size.push_back(1 + random() % (size - box.start.back()));
      }
      const auto kind = static_cast<InitialiseAttributes::Kind>(repeat % 4);
      const Attributes attributes = InitialiseAttributes{kind, 0.5, key_from_seed(repeat), {shape, DType::f32}};
      const std::vector<float> all = drawn(attributes), part = drawn(attributes, box);
      const BoxRuns runs(shape, box);
      runs.for_each([&](int64_t from, int64_t to) {
        for (int64_t i = 0; i < runs.run_length(); ++i) QCOMPARE(part[to + i], all[from + i]);
      });
    }
  }

  void each_kind_draws_what_its_name_says() {
    using Kind = InitialiseAttributes::Kind;
    const int64_t count = 4000;
    const Key key = key_from_seed(9);
    auto values = [&](Kind kind, double scale) {
      return drawn(Attributes(InitialiseAttributes{kind, scale, key, {{count}, DType::f32}}));
    };
    const std::vector<float> normals = values(Kind::normal, 0.5), cut = values(Kind::truncated_normal, 0.5),
                             uniforms = values(Kind::uniform, 0.5), constants = values(Kind::constant, 0.5);
    for (int64_t i = 0; i < count; ++i) {
      const auto index = static_cast<uint64_t>(i);
      QCOMPARE(normals[i], 0.5f * normal(key, index));
      QCOMPARE(cut[i], 0.5f * truncated_normal(key, index, -2, 2));
      QCOMPARE(uniforms[i], uniform(key, index, -0.5f, 0.5f));
      QCOMPARE(constants[i], 0.5f);
    }
  }

  void a_scalar_is_one_element() {
    using Kind = InitialiseAttributes::Kind;
    const Key key = key_from_seed(9);
    const std::vector<float> values = drawn(Attributes(InitialiseAttributes{Kind::normal, 1, key, {{}, DType::f32}}));
    QCOMPARE(values, std::vector<float>{normal(key, 0)});
  }

  void parameters_of_different_places_and_seeds_differ() {
    const std::vector<float> values = dense_kernel(0, "Dense_0");
    QVERIFY(dense_kernel(0, "Dense_0") == values);
    QVERIFY(dense_kernel(1, "Dense_0") != values);
    QVERIFY(dense_kernel(0, "Dense_1") != values);
  }
};

QTEST_APPLESS_MAIN(ParameterInitTest)
#include "parameter_init_test.moc"
