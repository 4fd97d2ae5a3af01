#include <QtTest>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "engine/machine/machine_library.h"
#include "engine/ops/ring_attention.h"
#include "engine/ops/zigzag.h"
#include "tests/base/errors_of.h"
#include "tests/laws/serial_training.h"
#include "tests/test_program.h"

namespace context_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

// The length of every sequence is split over the axis context.
RunConfig run_of(const std::string& preset, const std::vector<int64_t>& mesh, LayoutMode mode, const char* way) {
  std::vector<std::string> settings = system_preset(preset).small;
  settings.push_back(std::string("model.context_attention=") + way);
  RunConfig config = system_run(preset, settings);
  config.mesh_axes = {{"data", mesh[0]}, {"context", mesh[1]}, {"model", mesh[2]}};
  config.sharding.mode = mode;
  config.sharding.in = config.sharding.out = PartitionSpec{{{"data"}, {"context"}}};
  return config;
}

constexpr int length = 16;  // of all sequences

// Of layers that all have this window, on a ring of so many devices.
RunConfig windowed_run(int window, int context, const char* way = "ring") {
  RunConfig config = run_of("gemma3_tiny", {1, context, 1}, LayoutMode::as_written, way);
  return with_settings(
      config, {"model.overrides.sliding_window=" + std::to_string(window), "model.overrides.num_hidden_layers=2",
               R"(model.overrides.layer_types=["sliding_attention","sliding_attention"])"});
}

void add_windows(const std::vector<int>& windows) {
  QTest::addColumn<int>("window");
  QTest::addColumn<int>("context");
  for (int window : windows) {
    for (int context : {2, 4, 8}) QTest::addRow("window %d, %d blocks", window, context) << window << context;
  }
}

bool has_ring(const Plan& plan) {
  return std::ranges::any_of(plan.graph->ops, [](const Op& op) { return op.definition->name() == "ring_attention"; });
}

// Whether "auto" is a ring: of what fits a device the faster; where tight, a device has not room for both.
bool automatic_way(const std::string& preset, int context, Machine machine, bool tight) {
  const auto planned = [&](const char* way) {
    return compile({run_of(preset, {1, context, 1}, LayoutMode::fastest, way), machine});
  };
  const auto rank = [](const Plan& plan) {
    return std::pair(plan.totals.device_bytes > plan.memory_limit_bytes, plan.totals.seconds_per_step);
  };
  Plan ring = planned("ring"), gather = planned("gather");
  if (tight) {
    const int64_t between = (ring.totals.device_bytes + gather.totals.device_bytes) / 2;
    machine.device.memory_bytes = between * (machine.device.kind == DeviceKind::host_cores ? context : 1);
    ring = planned("ring"), gather = planned("gather");
  }
  const Plan automatic = planned("auto");
  [&] {
    QCOMPARE(rank(automatic), std::min(rank(ring), rank(gather)));
    QCOMPARE(has_ring(automatic), rank(ring) < rank(gather));
    QCOMPARE(planned("auto").hash, automatic.hash);
  }();
  return has_ring(automatic);
}

OpId first_attention(const Plan& plan) {
  const auto found =
      std::ranges::find_if(plan.graph->ops, [](const Op& op) { return op.definition->name() == "attention_block"; });
  return static_cast<OpId>(found - plan.graph->ops.begin());
}

const std::vector<std::string>& decoders() {
  static const std::vector<std::string> presets{"llama_tiny",   "qwen3_tiny",       "gemma3_tiny",
                                                "mixtral_tiny", "deepseek_v3_tiny", "gpt_oss_tiny"};
  return presets;
}

}  // namespace

class ContextTest : public QObject {
  Q_OBJECT

 private slots:
  // Law 1: rotary positions, causal masks and windows by positions in the whole sequence, losses over parts of it. Each
  // preset on each mesh by both ways, of which one is as written, in turns.
  void every_mesh_trains_as_one_device_data() {
    QTest::addColumn<QString>("preset");
    QTest::addColumn<QList<qint64>>("sizes");
    QTest::addColumn<bool>("as_written");
    QTest::addColumn<bool>("ring");
    int turn = 0;
    for (const std::string& preset : decoders()) {
      for (const std::vector<int64_t>& mesh : meshes_of(3)) {
        if (mesh[1] == 1 || mesh[2] > 2) continue;
        ++turn;
        for (bool ring : {false, true}) {
          const LayoutMode mode = (turn % 2 == 0) == ring ? LayoutMode::fastest : LayoutMode::as_written;
          QTest::newRow((text_of(preset, mesh, mode) + (ring ? " ring" : " gather")).c_str())
              << QString::fromStdString(preset) << QList<qint64>(mesh.begin(), mesh.end())
              << (mode == LayoutMode::as_written) << ring;
        }
      }
    }
  }
  void every_mesh_trains_as_one_device() {
    QFETCH(QString, preset);
    QFETCH(QList<qint64>, sizes);
    QFETCH(bool, as_written);
    QFETCH(bool, ring);
    const std::string name = preset.toStdString();
    const LayoutMode mode = as_written ? LayoutMode::as_written : LayoutMode::fastest;
    const Plan plan =
        compile({run_of(name, {sizes.begin(), sizes.end()}, mode, ring ? "ring" : "gather"), reference_host()});
    const ThreadTraining training = train_in_threads(plan, serial_steps);
    compare_with_serial(training, serial_training(system_preset(name)), 1e-3, is_key_bias);
    compare_with_prediction(training, plan);
  }

  // Of each op that is as long as the sequence a device works on its part; keys and values alone are whole.
  void queries_stay_split_and_keys_are_gathered() {
    for (const std::string& preset : decoders()) {
      const Plan plan = compile({run_of(preset, {1, 4, 1}, LayoutMode::as_written, "gather"), reference_host()});
      int attentions = 0;
      for (const Instruction& instruction : plan.instructions()) {
        const Compute* compute = instruction.as<Compute>();
        if (!compute || plan.graph->ops[instruction.op].definition->name() != "attention") continue;
        ++attentions;
        const auto length = [&](int operand) { return plan.program.values[compute->operands[operand]].local_shape[1]; };
        QCOMPARE(length(0), int64_t{4});
        QCOMPARE(length(1), int64_t{16});
        QCOMPARE(length(2), int64_t{16});
      }
      QVERIFY2(attentions > 0, preset.c_str());
      for (const ProgramValue& value : plan.program.values) {
        const bool logits = value.graph_value == plan.graph->outputs.at("logits");
        if (logits) QCOMPARE(value.local_shape[1], int64_t{4});
      }
    }
  }

  // Keys and values are sent on to the next device, in backward with their gradients, and are whole nowhere.
  void round_a_ring_no_device_has_all_keys() {
    for (const std::string& preset : decoders()) {
      const Plan plan = compile({run_of(preset, {1, 4, 1}, LayoutMode::as_written, "ring"), reference_host()});
      std::map<Phase, int> sent;
      int blocks = 0;
      for (const Instruction& instruction : plan.instructions()) {
        if (const Compute* compute = instruction.as<Compute>()) {
          const Op& op = plan.graph->ops[instruction.op];
          if (op.definition->name() != "attention_block" || sends_halves(op.attributes.as<RingAttributes>())) continue;
          ++blocks;
          for (int operand : compute->operands) QCOMPARE(plan.program.values[operand].local_shape[1], int64_t{4});
        }
        const CollectiveStart* start = instruction.as<CollectiveStart>();
        if (start && start->shift == 1 && start->receivers.empty()) ++sent[instruction.phase];
      }
      QVERIFY2(blocks > 0 && blocks % 4 == 0, preset.c_str());
      const int layers = blocks / 4;
      QCOMPARE(sent[Phase::forward], 2 * 3 * layers);
      QCOMPARE(sent[Phase::backward], 2 * (3 + 4) * layers);
    }
  }

  // Law 1, of layers with a window: of any width, in blocks of any size. Where a query sees its own key alone,
  // gradients of queries and keys are nothing but rounding.
  void windows_train_as_one_device_data() { add_windows({2, 3, 5, 7, 9, 12, 15, 16, 40}); }
  void windows_train_as_one_device() {
    QFETCH(int, window);
    QFETCH(int, context);
    static std::map<int, ThreadTraining> of_window;
    auto [entry, added] = of_window.try_emplace(window);
    ThreadTraining& alone = entry->second;
    if (added) alone = train_in_threads(compile({windowed_run(window, 1), reference_host()}), serial_steps);
    for (const char* way : {"ring", "gather"}) {
      const Plan plan = compile({windowed_run(window, context, way), reference_host()});
      const ThreadTraining training = train_in_threads(plan, serial_steps);
      compare_with_serial(training, alone, 1e-3, is_key_bias);
      compare_with_prediction(training, plan);
    }
  }

  // What a device sends: of its keys and values each chunk to every other device some query of which sees some of it,
  // in backward once more; and of those that it has seen the gradients.
  void a_window_has_chunks_sent_to_those_that_see_them_data() { add_windows({1, 2, 3, 5, 7, 9, 12, 15}); }
  void a_window_has_chunks_sent_to_those_that_see_them() {
    QFETCH(int, window);
    QFETCH(int, context);
    const Plan plan = compile({windowed_run(window, context), reference_host()});
    std::set<std::pair<int, int>> ways;  // a chunk, and the device that sees it and has it not
    const Zigzag order{context, length};
    const int chunk = length / context / 2;
    for (int query = 0; query < length; ++query) {
      for (int key = 0; key < length; ++key) {
        const int64_t behind = order.position(query) - order.position(key);
        const int device = query / (2 * chunk), owner = key / (2 * chunk);
        if (behind >= 0 && behind < window && device != owner) ways.insert({key / chunk, device});
      }
    }
    for (int device = 0; device < context; ++device) {
      double sent = 0;
      int layers = 0;
      for (const Instruction& instruction : plan.program.main_instructions()) {
        const CollectiveStart* start = instruction.as<CollectiveStart>();
        if (start && !start->receivers.empty() && start->sends(device)) sent += start->wire_bytes;
        const Compute* compute = instruction.as<Compute>();
        const bool attends = compute && instruction.phase == Phase::forward &&
                             plan.graph->ops[instruction.op].definition->name() == "ring_attention";
        layers += attends ? 1 : 0;
      }
      const auto of = [&](int chunk_of_device) { return chunk_of_device / 2 == device; };
      const auto own = std::ranges::count_if(ways, [&](const auto& way) { return of(way.first); });
      const auto seen = std::ranges::count_if(ways, [&](const auto& way) { return way.second == device; });
      const ValueId key = plan.graph->ops[first_attention(plan)].inputs[1];
      const int64_t bytes = plan.graph->type(key).bytes() / length * chunk;
      QCOMPARE(sent, static_cast<double>(layers * bytes * (4 * own + 2 * seen)));
    }
  }

  // What times are predicted from: pairs of a query and a key that it sees, all blocks and steps together.
  void counted_pairs_are_those_that_a_window_shows_data() { add_windows({1, 2, 3, 5, 7, 9, 12, 15}); }
  void counted_pairs_are_those_that_a_window_shows() {
    QFETCH(int, window);
    QFETCH(int, context);
    const Plan plan = compile({windowed_run(window, context), reference_host()});
    double counted = 0, expected = 0;
    for (const Op& op : plan.graph->ops) {
      std::vector<TensorType> operands;
      for (ValueId input : op.inputs) operands.push_back(plan.graph->type(input));
      const bool attends = op.definition->name() == "attention_block";
      if (attends) counted += op.definition->scores(op.attributes, operands).scores;
      if (!attends || op.attributes.as<RingAttributes>().step > 0) continue;
      const Shape& query = operands[0].shape;
      for (int position = 0; position < length; ++position) {
        expected += static_cast<double>(query[0] * query[2] * std::min(position + 1, window));
      }
    }
    QVERIFY2(std::abs(counted - expected) < 1e-6 * expected,
             qPrintable(QString("%1 of %2").arg(counted).arg(expected)));
  }

  // Zig-zag: the pairs of a query and a key before it that each device works on differ by less than 5 %.
  void devices_share_the_work_evenly() {
    for (int64_t blocks : {2, 4, 8, 16}) {
      const Zigzag order{blocks, 64 * blocks};
      std::vector<int64_t> pairs(static_cast<size_t>(blocks));
      for (int64_t index = 0; index < order.length; ++index) {
        pairs[static_cast<size_t>(index / 64)] += order.position(index) + 1;
      }
      const auto [least, most] = std::ranges::minmax(pairs);
      QVERIFY(static_cast<double>(most) < 1.05 * static_cast<double>(least));
    }
  }

  // As written no machine is asked.
  void as_written_automatically_a_ring_unless_a_layer_has_a_window() {
    for (const Machine& machine : unlike_machines()) {
      const auto rings = [&](const char* preset) {
        return has_ring(compile({run_of(preset, {1, 2, 1}, LayoutMode::as_written, "auto"), machine}));
      };
      QVERIFY(rings("llama_tiny"));
      QVERIFY(!rings("gemma3_tiny"));
    }
  }

  // Else what fits, and of that what is predicted faster, on unlike machines with and without room for both.
  void automatically_the_faster_way_that_fits() {
    std::array<int, 2> chosen{};
    std::vector<Machine> machines = unlike_machines();
    machines.push_back(*library_machine("dgx_h100"));
    for (const std::string& preset : decoders()) {
      for (const Machine& machine : machines) {
        for (int context : {2, 4}) {
          for (bool tight : {false, true}) ++chosen[automatic_way(preset, context, machine, tight)];
        }
      }
    }
    QVERIFY(chosen[0] > 0 && chosen[1] > 0);
  }

  void a_length_that_has_no_chunks_is_refused() {
    RunConfig config = run_of("llama_tiny", {1, 8, 1}, LayoutMode::as_written, "ring");
    config = with_settings(config, {"data.sequence_length=24"});
    const Error error = error_of([&] { compile({config, reference_host()}); });
    QCOMPARE(error.code, std::string("indivisible"));
    QCOMPARE(to_string(error.place), std::string("model.context_attention"));
  }
};

REGISTER_TEST(ContextTest)

}  // namespace context_test

#include "context_test.moc"
