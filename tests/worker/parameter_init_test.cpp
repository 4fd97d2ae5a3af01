#include <QTest>
#include <cmath>
#include <fstream>
#include <numeric>
#include <random>

#include <nlohmann/json.hpp>

#include "engine/base/align.h"
#include "engine/base/path.h"
#include "engine/comm/thread_communicator.h"
#include "engine/machine/host_machine.h"
#include "engine/mesh/box_runs.h"
#include "engine/mesh/partition_spec.h"
#include "engine/ops/initialise.h"
#include "engine/runtime/arena.h"
#include "engine/runtime/executor.h"
#include "engine/runtime/kernels/kernel.h"
#include "engine/worker/stored_bytes.h"
#include "models/linen.h"
#include "tests/laws/preset_case.h"
#include "tests/test_program.h"
#include "tests/training/thread_training.h"

namespace parameter_init_test {

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
  make_kernel("initialise", arguments)->run({});
  return values;
}

std::vector<float> drawn(const Attributes& attributes) {
  const Shape& shape = attributes.as<InitialiseAttributes>().type.shape;
  return drawn(attributes, {Shape(shape.size()), shape});
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

Task& initialise(Plan& plan) { return *std::ranges::find(plan.program.tasks, Phase::initialise, &Task::phase); }

// What initialisation stores on a mesh of one device, by a plan that is changed before.
StoredBytes stored_on_one_device(
    RunConfig config, const std::function<void(Plan&)>& change = [](Plan&) {}) {
  for (MeshAxis& axis : config.mesh_axes) axis.size = 1;
  Plan plan = compile({config, reference_host()});
  change(plan);
  for (Sequence& sequence : plan.program.sequences) {
    sequence = make_sequence(sequence.purpose, sequence.runs, plan.program.tasks);
  }
  struct alignas(line_bytes) Line {
    std::byte bytes[line_bytes];
  };
  std::vector<Line> memory(static_cast<size_t>(round_up(plan.arenas[0].bytes) / line_bytes));
  Arena arena({memory.data()->bytes, memory.size() * line_bytes});
  auto world = make_thread_communicators(1);
  Executor executor(plan, 0, arena.base(), *world[0]);
  executor.run(Purpose::initialise, {});
  return measure_stored(plan, executor, arena);
}

bool close(double actual, double expected) {
  return std::abs(actual - expected) <= 1e-6 * std::max(1.0, std::abs(expected));
}
bool near(double actual, double expected) { return std::abs(actual - expected) <= 1e-6 * std::abs(expected) + 1e-9; }

}  // namespace

class ParameterInitTest : public QObject {
  Q_OBJECT

 private slots:
  void on_every_mesh_a_decoders_parameters_start_as_flax_starts_them() {
    const Json file = golden("parallax_decoder.json");
    for (const MeshSize& mesh : all_meshes()) {
      std::vector<std::string> overrides = mesh_overrides(mesh.data, mesh.model);
      overrides.push_back("data.batch_size=8");
      const Plan plan = compile({load_preset("parallax_decoder", overrides), reference_host()});
      const ThreadTraining start = train_in_threads(plan, 0);
      QVERIFY(start.replicas_equal);
      QCOMPARE(start.parameters.size(), file["initial"].size());
      for (const ParameterPlan& parameter : plan.parameters) {
        const std::string path = join_path(parameter.path);
        const Json& expected = file["initial"][path];
        const std::vector<float>& values = start.parameters.at(path);
        QCOMPARE(parameter.shape, expected["shape"].get<Shape>());
        for (size_t i = 0; i < expected["first"].size(); ++i) {
          QVERIFY2(near(values[i], expected["first"][i]), path.c_str());
        }
        QVERIFY2(near(values.back(), expected["last"]), path.c_str());
        double sum = 0, squares = 0;
        for (float value : values) sum += value, squares += double(value) * value;
        QVERIFY2(close(sum, expected["sum"]), path.c_str());
        QVERIFY2(close(squares, expected["sumsq"]), path.c_str());
      }
      for (const auto& [path, values] : start.optimizer) {
        QVERIFY2(std::ranges::all_of(values, [](float value) { return value == 0; }), path.c_str());
      }
    }
  }

  void stored_bytes_are_those_that_initialisation_wrote() {
    const RunConfig config = load_preset("parallax_decoder", small_size());
    const Plan plan = compile({config, reference_host()});
    const StoredBytes all = stored_on_one_device(config);
    int64_t parameters = 0;
    for (const ParameterPlan& parameter : plan.parameters) parameters += element_count(parameter.shape) * 4;
    QCOMPARE(all.parameters, parameters);
    QCOMPARE(all.optimizer, 2 * parameters);

    const StoredBytes none = stored_on_one_device(config, [](Plan& one) { initialise(one).instructions.clear(); });
    QCOMPARE(none.parameters, int64_t{0});
    QCOMPARE(none.optimizer, int64_t{0});

    const StoredBytes fewer = stored_on_one_device(config, [&](Plan& one) {
      const ValueId first = one.graph->states[one.parameters.front().state].initial;
      std::erase_if(initialise(one).instructions, [&](const Instruction& instruction) {
        return one.program.values[instruction.results()[0]].graph_value == first;
      });
    });
    QCOMPARE(fewer.parameters, parameters - element_count(plan.parameters.front().shape) * 4);
    QCOMPARE(fewer.optimizer, 2 * parameters);
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

REGISTER_TEST(ParameterInitTest)

}  // namespace parameter_init_test

#include "parameter_init_test.moc"
