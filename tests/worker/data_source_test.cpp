#include "engine/worker/data_source.h"

#include <QTest>
#include <fstream>
#include <random>

#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/runtime/box_runs.h"

using namespace shardscope;
using Json = nlohmann::json;

namespace {

// A model of so many sequences, tokens and classes, as far as a data source sees it.
Graph language_model(int64_t batch, int64_t sequence, int64_t vocabulary) {
  Graph graph;
  const auto add = [&](const char* name, Shape shape, DType dtype) {
    graph.values.push_back({name, {std::move(shape), dtype}, ValueKind::input, no_id, 0});
    return static_cast<ValueId>(graph.values.size()) - 1;
  };
  graph.inputs["tokens"] = add("tokens", {batch, sequence}, DType::i32);
  graph.inputs["labels"] = add("labels", {batch, sequence}, DType::i32);
  graph.outputs["logits"] = add("logits", {batch, sequence, vocabulary}, DType::f32);
  return graph;
}

NamedOptions synthetic(int64_t batch, int64_t seed) {
  return {"synthetic_lm", {{"batch_size", batch}, {"seed", seed}}};
}

std::vector<int32_t> part(const DataSource& source, const std::string& name, const Box& box) {
  std::vector<int32_t> values(element_count(box.size), -1);
  source.fill(name, box, values.data());
  return values;
}

std::string failure_code(const NamedOptions& data) {
  try {
    make_data_source(data, language_model(4, 8, 16));
  } catch (const Failure& failure) {
    return failure.errors().front().code + " at " + failure.errors().front().where;
  }
  return "no failure";
}

}  // namespace

class DataSourceTest : public QObject {
  Q_OBJECT

 private slots:
  void synthetic_tokens_are_jax_randint() {
    const Json golden = Json::parse(std::ifstream(SHARDSCOPE_SOURCE_DIR "/tests/golden/prng.json"));
    const Json& item = golden["randint"][0];
    QCOMPARE(item["low"].get<int>(), 0);
    const int64_t n = item["n"];
    const auto source = make_data_source(synthetic(2, item["seed"]), language_model(2, n / 2, item["high"]));
    QVERIFY(part(*source, "tokens", {{0, 0}, {2, n / 2}}) == item["values"].get<std::vector<int32_t>>());
  }

  void labels_are_the_next_tokens_and_zero_at_the_end() {
    for (int64_t seed = 0; seed < 20; ++seed) {
      const auto source = make_data_source(synthetic(6, seed), language_model(6, 33, 1000));
      const std::vector<int32_t> tokens = part(*source, "tokens", {{0, 0}, {6, 33}});
      const std::vector<int32_t> labels = part(*source, "labels", {{0, 0}, {6, 33}});
      for (int row = 0; row < 6; ++row) {
        for (int column = 0; column < 33; ++column) {
          QCOMPARE(labels[33 * row + column], column == 32 ? 0 : tokens[33 * row + column + 1]);
        }
      }
    }
  }

  void each_rank_can_make_just_its_box() {
    std::mt19937 random(1);
    const auto source = make_data_source(synthetic(9, 5), language_model(9, 70, 300));
    for (const char* name : {"tokens", "labels"}) {
      const std::vector<int32_t> whole = part(*source, name, {{0, 0}, {9, 70}});
      for (int repeat = 0; repeat < 300; ++repeat) {
        Box box{{int64_t(random() % 9), int64_t(random() % 70)}, {}};
        box.size = {int64_t(1 + random() % (9 - box.start[0])), int64_t(1 + random() % (70 - box.start[1]))};
        const std::vector<int32_t> own = part(*source, name, box);
        const BoxRuns runs({9, 70}, box);
        runs.for_each([&](int64_t from, int64_t to) {
          for (int64_t i = 0; i < runs.run_length(); ++i) QCOMPARE(own[to + i], whole[from + i]);
        });
      }
    }
  }

  void wrong_data_sections_are_located_errors() {
    QCOMPARE(failure_code({"synthetic_ml", {}}), std::string("unknown_data_kind at data.kind"));
    QVERIFY(failure_code({"synthetic_lm", {{"batch_size", int64_t{4}}, {"sead", int64_t{1}}}}).ends_with("data.sead"));
    QVERIFY(failure_code({"synthetic_lm", {}}).ends_with("data.batch_size"));
    const auto source = make_data_source(synthetic(4, 0), language_model(4, 8, 16));
    QVERIFY_THROWS_EXCEPTION(Failure, part(*source, "images", {{0, 0}, {1, 1}}));
  }
};

QTEST_APPLESS_MAIN(DataSourceTest)
#include "data_source_test.moc"
