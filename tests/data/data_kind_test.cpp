#include "engine/data/data_kind.h"

#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "engine/base/error.h"
#include "engine/base/random.h"
#include "engine/mesh/box_runs.h"
#include "tests/base/errors_of.h"
#include "tests/data/made_source.h"
#include "tests/test_program.h"

namespace data_kind_test {

using namespace shardscope;
using namespace shardscope::test;
using Json = nlohmann::json;

namespace {

DataRequest text(int64_t batch, int64_t sequence, int64_t vocabulary) {
  const TensorType rows{{batch, sequence}, DType::i32};
  return {{{"labels", rows, vocabulary}, {"tokens", rows, vocabulary}}};
}

DataRequest regression(int64_t batch) {
  return {{{"inputs", {{batch, 6, 4}, DType::f32}}, {"scale", {{}, DType::f32}}, {"targets", {{batch}, DType::f32}}}};
}

DataRequest pairs(int64_t batch) {
  const TensorType column{{batch, 1}, DType::f32};
  return {{{"inputs", column}, {"targets", column}}};
}

// A file of 3000 tokens below 10, for kinds that read one.
std::string token_file() {
  static const QTemporaryDir folder;
  const std::string path = folder.filePath("tokens").toStdString();
  std::ofstream file(path, std::ios::binary);
  for (int i = 0; i < 3000; ++i) file.put(static_cast<char>(i * i % 11 % 10)).put(0);
  return path;
}

NamedOptions named(const std::string& kind, int64_t batch, int64_t seed) {
  NamedOptions data{kind, {{"batch_size", batch}, {"seed", seed}}};
  if (find_data_kind(kind)->check_files) data.options.emplace_back("path", token_file());
  return data;
}

template <class T>
std::vector<T> part(const DataSource& source, const std::string& name, const Box& box, int64_t step = 0) {
  std::vector<T> values(static_cast<size_t>(element_count(box.size)), T(-1));
  source.fill(name, box, step, std::as_writable_bytes(std::span(values)));
  return values;
}

Box whole_box(const Shape& shape) { return {Shape(shape.size()), shape}; }

Box random_box(const Shape& shape, std::mt19937& random) {
  Box box;
  for (int64_t size : shape) {
    box.start.push_back(random() % size);
    box.size.push_back(1 + random() % (size - box.start.back()));
  }
  return box;
}

// True where the box alone has the elements that it has in the whole. Elements of all inputs are of four bytes.
bool is_part_of_whole(const DataSource& source, const DataInput& input, const Box& box, int64_t step) {
  const std::vector<int32_t> whole = part<int32_t>(source, input.name, whole_box(input.type.shape), step);
  const std::vector<int32_t> own = part<int32_t>(source, input.name, box, step);
  const BoxRuns runs(input.type.shape, box);
  bool equal = true;
  runs.for_each([&](int64_t from, int64_t to) {
    equal = equal && std::equal(own.begin() + to, own.begin() + to + runs.run_length(), whole.begin() + from);
  });
  return equal;
}

// The first of these that the kind serves.
DataRequest fitting(const DataKind& kind, const std::vector<DataRequest>& requests) {
  const auto found = std::ranges::find_if(requests, [&](const DataRequest& one) { return serves(kind, one); });
  return found == requests.end() ? DataRequest{} : *found;
}

std::vector<Error> faults(const NamedOptions& data, const DataRequest& request) {
  return errors_of([&] { made_source(data, request); });
}

std::string first_fault(const NamedOptions& data, const DataRequest& request) {
  const std::vector<Error> errors = faults(data, request);
  return errors.empty() ? "none" : errors.front().code + " at " + to_string(errors.front().place);
}

}  // namespace

class DataKindTest : public QObject {
  Q_OBJECT

 private slots:
  void tokens_are_jax_randint() {
    const Json golden = Json::parse(std::ifstream(SHARDSCOPE_SOURCE_DIR "/tests/golden/prng.json"));
    const Json& item = golden["randint"][0];
    QCOMPARE(item["low"].get<int>(), 0);
    const int64_t n = item["n"];
    for (const char* kind : {"synthetic_lm", "random_rolled"}) {
      const auto source = made_source(named(kind, 2, item["seed"]), text(2, n / 2, item["high"]));
      QVERIFY(part<int32_t>(*source, "tokens", {{0, 0}, {2, n / 2}}) == item["values"].get<std::vector<int32_t>>());
    }
  }

  void labels_are_the_next_tokens_and_end_with_zero_or_the_first_token() {
    for (int64_t seed = 0; seed < 20; ++seed) {
      for (const bool rolled : {false, true}) {
        const auto source = made_source(named(rolled ? "random_rolled" : "synthetic_lm", 6, seed), text(6, 33, 1000));
        const std::vector<int32_t> tokens = part<int32_t>(*source, "tokens", {{0, 0}, {6, 33}});
        const std::vector<int32_t> labels = part<int32_t>(*source, "labels", {{0, 0}, {6, 33}});
        for (int row = 0; row < 6; ++row) {
          for (int column = 0; column < 32; ++column) {
            QCOMPARE(labels[33 * row + column], tokens[33 * row + column + 1]);
          }
          QCOMPARE(labels[33 * row + 32], rolled ? tokens[33 * row] : 0);
        }
      }
    }
  }

  void normal_inputs_are_jax_normal_with_a_key_of_their_own_in_every_step() {
    const auto source = made_source(named("normal", 8, 42), regression(8));
    for (int64_t step : {0, 1, 77}) {
      const Key key = fold_in(key_from_seed(42), static_cast<uint32_t>(step));
      const std::vector<float> inputs = part<float>(*source, "inputs", {{0, 0, 0}, {8, 6, 4}}, step);
      for (size_t i = 0; i < inputs.size(); ++i) QCOMPARE(inputs[i], normal(split(key, 0), i));
      QCOMPARE(part<float>(*source, "scale", {{}, {}}, step), std::vector<float>{normal(split(key, 1), 0)});
      const std::vector<float> targets = part<float>(*source, "targets", {{0}, {8}}, step);
      for (size_t i = 0; i < targets.size(); ++i) QCOMPARE(targets[i], normal(split(key, 2), i));
    }
  }

  void ones_are_one_and_their_targets_zero_in_every_step() {
    const auto source = made_source(named("ones", 8, 42), regression(8));
    QVERIFY(source->same_every_step());
    for (int64_t step : {0, 77}) {
      QCOMPARE(part<float>(*source, "inputs", {{2, 0, 1}, {4, 6, 3}}, step), std::vector<float>(72, 1));
      QCOMPARE(part<float>(*source, "scale", {{}, {}}, step), std::vector<float>{1});
      QCOMPARE(part<float>(*source, "targets", {{3}, {5}}, step), std::vector<float>(5, 0));
    }
  }

  void zeros_are_zero() {
    const auto source = made_source(named("zeros", 4, 7), text(4, 8, 16));
    for (const char* name : {"tokens", "labels"}) {
      QCOMPARE(part<int32_t>(*source, name, {{0, 0}, {4, 8}}, 3), std::vector<int32_t>(32, 0));
    }
  }

  // The points of RandomState(3), of which choice(100, size=5) takes some in each step, whatever was asked before.
  void quadratic_batches_are_numpys() {
    const Json golden = Json::parse(std::ifstream(SHARDSCOPE_SOURCE_DIR "/tests/golden/nnx_systems.json"))[0];
    QCOMPARE(golden["quadratic"]["seed"].get<int>(), 3);
    const auto source = made_source(named("quadratic", 5, 3), pairs(5));
    for (int64_t step : {0, 3, 1, 2, 2, 0}) {
      const Json& expected = golden["quadratic"]["batches"][static_cast<size_t>(step)];
      for (const char* name : {"targets", "inputs"}) {
        QCOMPARE(part<float>(*source, name, {{0, 0}, {5, 1}}, step), expected[name].get<std::vector<float>>());
      }
    }
  }

  // After the last whole batch the first comes again.
  void numpy_batches_are_numpys_rows_one_batch_after_the_other() {
    const Json golden = Json::parse(std::ifstream(SHARDSCOPE_SOURCE_DIR "/tests/golden/prng.json"));
    const Json& item = golden["numpy_randint"][0];
    const std::vector<int32_t> values = item["values"].get<std::vector<int32_t>>();
    NamedOptions data = named("numpy_batches", 2, item["seed"]);
    data.options.emplace_back("dataset_size", int64_t{5});
    const auto source = made_source(data, text(2, 5, item["n"]));
    for (int64_t step : {0, 1, 0, 3, 2, 101}) {
      const auto first = values.begin() + step % 2 * 10;
      const std::vector<int32_t> expected(first, first + 10);
      QCOMPARE(part<int32_t>(*source, "tokens", {{0, 0}, {2, 5}}, step), expected);
      const std::vector<int32_t> labels = part<int32_t>(*source, "labels", {{0, 0}, {2, 5}}, step);
      for (size_t i = 0; i < labels.size(); ++i) QCOMPARE(labels[i], i % 5 == 4 ? 0 : expected[i + 1]);
    }
  }

  // All rows before those of the step are drawn for it.
  void a_source_that_has_much_to_do_before_its_first_step_tells_of_its_progress() {
    NamedOptions data = named("numpy_batches", 2, 7);
    data.options.emplace_back("dataset_size", int64_t{1000});
    const auto source = made_source(data, text(2, 5, 300)), other = made_source(data, text(2, 5, 300));
    int signs = 0;
    source->prepare(400, [&] { ++signs; });
    QVERIFY2(signs >= 400, qPrintable(QString::number(signs)));
    const auto tokens = [](const DataSource& from) { return part<int32_t>(from, "tokens", {{0, 0}, {2, 5}}, 400); };
    QCOMPARE(tokens(*source), tokens(*other));
  }

  void any_box_of_any_step_has_the_elements_of_the_whole() {
    std::mt19937 random(1);
    for (const DataKind& kind : all_data_kinds()) {
      int served = 0;
      for (const DataRequest& request : {text(9, 70, 300), regression(9), pairs(9)}) {
        if (!serves(kind, request)) continue;
        ++served;
        const auto source = made_source(named(kind.name, 9, 5), request);
        for (const DataInput& input : request.inputs) {
          for (int repeat = 0; repeat < 300; ++repeat) {
            QVERIFY(is_part_of_whole(*source, input, random_box(input.type.shape, random), random() % 5));
          }
        }
      }
      QVERIFY2(served > 0, kind.name.c_str());
    }
  }

  void on_every_mesh_each_device_gets_its_part_of_the_same_batch() {
    const Shape shape = {24, 12};
    const DataRequest tokens = text(24, 12, 50);
    const DataRequest numbers{{{"inputs", {shape, DType::f32}}}};
    for (const auto& [data, model] : std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {4, 2}, {2, 3}, {1, 6}, {8, 1}}) {
      const Mesh mesh({{"data", data}, {"model", model}});
      for (const DataKind& kind : all_data_kinds()) {
        const DataRequest request = fitting(kind, {tokens, numbers, pairs(24)});
        const auto source = made_source(named(kind.name, 24, 3), request);
        for (const DataInput& input : request.inputs) {
          const Shape& shape = input.type.shape;
          Sharding split = Sharding::replicated(2);
          split.dims[0].push_back(0);
          if (shape[1] > 1) split.dims[1].push_back(1);
          for (int device = 0; device < mesh.device_count(); ++device) {
            QVERIFY(is_part_of_whole(*source, input, shard_box(split, mesh, shape, device), 2));
          }
        }
      }
    }
  }

  void inputs_change_from_step_to_step_unless_the_kind_says_that_they_do_not() {
    for (const DataKind& kind : all_data_kinds()) {
      for (const DataRequest& request : {text(4, 16, 1000), regression(4), pairs(4)}) {
        if (!serves(kind, request)) continue;
        const auto source = made_source(named(kind.name, 4, 0), request);
        for (const DataInput& input : request.inputs) {
          const Box box = whole_box(input.type.shape);
          const bool same = part<int32_t>(*source, input.name, box, 0) == part<int32_t>(*source, input.name, box, 1);
          QCOMPARE(same, source->same_every_step());
        }
      }
    }
  }

  void values_of_a_limited_input_lie_below_its_limit() {
    for (int64_t limit : {1, 2, 7, 1 << 20}) {
      for (const char* kind : {"synthetic_lm", "random_rolled"}) {
        const auto source = made_source(named(kind, 16, limit), text(16, 40, limit));
        for (const char* name : {"tokens", "labels"}) {
          for (int32_t value : part<int32_t>(*source, name, {{0, 0}, {16, 40}})) QVERIFY(value >= 0 && value < limit);
        }
      }
    }
  }

  void a_kind_that_lacks_an_input_or_its_dtype_is_an_error_that_names_the_kinds_that_fit() {
    const DataRequest images{{{"images", {{4, 28, 28}, DType::f32}}}};
    std::vector<Error> errors = faults(named("synthetic_lm", 4, 0), images);
    QCOMPARE(errors.size(), size_t{1});
    QCOMPARE(errors[0].code, std::string("data_kind"));
    QCOMPARE(to_string(errors[0].place), std::string("data.kind"));
    QVERIFY(errors[0].message.find("images f32 (4, 28, 28)") != std::string::npos);
    QCOMPARE(errors[0].hint, std::string("kinds that fit: normal, ones"));
    errors = faults(named("normal", 4, 0), text(4, 8, 16));
    QVERIFY(errors.at(0).message.find("tokens i32 (4, 8)") != std::string::npos);
    QCOMPARE(errors.at(0).hint,
             std::string("kinds that fit: synthetic_lm, random_rolled, numpy_batches, zeros, text, tokens"));

    DataRequest mixed = text(4, 8, 16);
    mixed.inputs.push_back(images.inputs[0]);
    for (const DataKind& kind : all_data_kinds()) {
      errors = faults(named(kind.name, 4, 0), mixed);
      QCOMPARE(errors.at(0).code, std::string("data_kind"));
      QCOMPARE(errors.at(0).hint, std::string("no kind gives all of them"));
    }
    std::vector<DataRequest> unfit(5, text(4, 8, 16));
    unfit[0].inputs[0].type.dtype = DType::f32;
    unfit[1].inputs[1].type.shape = {4, 8, 2};
    unfit[2].inputs[0].limit = 15;  // labels are tokens
    unfit[3].inputs[1].limit = 0;   // nothing says below what to draw
    unfit[4].inputs[0].type.shape = {4, 9};
    for (const DataRequest& request : unfit) {
      QCOMPARE(first_fault(named("synthetic_lm", 4, 0), request), std::string("data_kind at data.kind"));
    }
  }

  void wrong_data_sections_are_located_errors() {
    const DataRequest request = text(4, 8, 16);
    QVERIFY(find_data_kind("synthetic_ml") == nullptr);
    QVERIFY(first_fault({"normal", {{"batch_size", int64_t{4}}, {"sead", int64_t{1}}}}, regression(4))
                .ends_with("data.sead"));
    const NamedOptions few{"numpy_batches", {{"batch_size", int64_t{4}}, {"dataset_size", int64_t{3}}}};
    QCOMPARE(first_fault(few, request), std::string("out_of_range at data.dataset_size"));
    for (const DataKind& kind : all_data_kinds()) {
      const DataRequest fit = fitting(kind, {request, regression(4), pairs(4)});
      QCOMPARE(first_fault({kind.name, {}}, fit), std::string("missing_key at data.batch_size"));
      const auto source = made_source(named(kind.name, 4, 0), fit);
      QVERIFY_THROWS_EXCEPTION(Failure, part<int32_t>(*source, "no such input", {{0, 0}, {1, 1}}));
    }
  }
};

REGISTER_TEST(DataKindTest)

}  // namespace data_kind_test

#include "data_kind_test.moc"
