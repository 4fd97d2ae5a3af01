#include "engine/worker/parameter_init.h"

#include <QTest>
#include <cmath>
#include <fstream>
#include <random>
#include <sstream>

#include <nlohmann/json.hpp>

#include "engine/mesh/box_runs.h"

using namespace shardscope;
using Json = nlohmann::json;

namespace {

Json golden(const std::string& file) {
  return Json::parse(std::ifstream(SHARDSCOPE_SOURCE_DIR "/tests/golden/" + file));
}

std::vector<float> whole(const Initializer& initializer, Key root, const Shape& shape) {
  std::vector<float> values(element_count(shape));
  fill_initial(initializer, root, {std::vector<int64_t>(shape.size(), 0), shape}, shape, values.data());
  return values;
}

bool close(double actual, double expected) {
  return std::abs(actual - expected) <= 1e-6 * std::max(1.0, std::abs(expected));
}
bool near(double actual, double expected) { return std::abs(actual - expected) <= 1e-6 * std::abs(expected) + 1e-9; }

// The initializer that Flax uses for a parameter of the decoder, by its path.
Initializer linen_initializer(std::vector<std::string> path, const Shape& shape) {
  const std::string own = path.back();
  path.pop_back();
  path.erase(path.begin());
  Initializer initializer;
  initializer.key_path = path;
  if (own == "scale") initializer.kind = Initializer::Kind::ones;
  if (own == "embedding" || own == "pos_embedding") {
    initializer.kind = Initializer::Kind::normal;
    initializer.stddev = own == "embedding" ? std::sqrt(1.0 / static_cast<double>(shape[1])) : 0.02;
  }
  if (own == "kernel") {
    initializer.kind = Initializer::Kind::lecun_normal;
    initializer.fan_in = path.back() == "out" ? shape[0] * shape[1] : shape[0];
  }
  return initializer;
}

}  // namespace

class ParameterInitTest : public QObject {
  Q_OBJECT

 private slots:
  void a_decoders_parameters_start_as_flax_starts_them() {
    const Json file = golden("parallax_decoder.json");
    int drawn = 0;
    for (const auto& [path, expected] : file["initial"].items()) {
      std::vector<std::string> parts;
      std::istringstream stream(path);
      for (std::string part; std::getline(stream, part, '/');) parts.push_back(part);
      const Shape shape = expected["shape"].get<Shape>();
      const Initializer initializer = linen_initializer(parts, shape);
      const std::vector<float> values = whole(initializer, key_from_seed(file["seed"]), shape);
      for (size_t i = 0; i < expected["first"].size(); ++i) {
        QVERIFY2(near(values[i], expected["first"][i]), path.c_str());
      }
      QVERIFY2(near(values.back(), expected["last"]), path.c_str());
      double sum = 0, squares = 0;
      for (float value : values) sum += value, squares += double(value) * value;
      QVERIFY2(close(sum, expected["sum"]), path.c_str());
      QVERIFY2(close(squares, expected["sumsq"]), path.c_str());
      drawn += initializer.kind == Initializer::Kind::normal || initializer.kind == Initializer::Kind::lecun_normal;
    }
    QVERIFY(drawn >= 15);
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
      Initializer initializer;
      initializer.kind = static_cast<Initializer::Kind>(repeat % 4);
      initializer.stddev = 0.5;
      initializer.fan_in = 7;
      initializer.key_path = {"Module_" + std::to_string(repeat)};
      const std::vector<float> all = whole(initializer, key_from_seed(repeat), shape);
      std::vector<float> part(element_count(box.size));
      fill_initial(initializer, key_from_seed(repeat), box, shape, part.data());
      const BoxRuns runs(shape, box);
      runs.for_each([&](int64_t from, int64_t to) {
        for (int64_t i = 0; i < runs.run_length(); ++i) QCOMPARE(part[to + i], all[from + i]);
      });
    }
  }

  void parameters_of_different_places_and_seeds_differ() {
    Initializer initializer;
    initializer.kind = Initializer::Kind::normal;
    initializer.stddev = 1;
    initializer.key_path = {"Dense_0"};
    const std::vector<float> values = whole(initializer, key_from_seed(0), {64});
    QVERIFY(whole(initializer, key_from_seed(1), {64}) != values);
    initializer.key_counter = 2;
    QVERIFY(whole(initializer, key_from_seed(0), {64}) != values);
    initializer.key_counter = 1;
    initializer.key_path = {"Dense_1"};
    QVERIFY(whole(initializer, key_from_seed(0), {64}) != values);
  }
};

QTEST_APPLESS_MAIN(ParameterInitTest)
#include "parameter_init_test.moc"
