#include <QTest>
#include <cmath>
#include <fstream>
#include <numeric>
#include <random>

#include <nlohmann/json.hpp>

#include "engine/base/numpy_random.h"
#include "engine/base/random.h"
#include "tests/test_program.h"

namespace random_test {

using namespace shardscope;
using Json = nlohmann::json;

namespace {

const Json& golden() {
  static const Json vectors = Json::parse(std::ifstream(SHARDSCOPE_SOURCE_DIR "/tests/golden/prng.json"));
  return vectors;
}

Key seeded(const Json& item, const char* name = "seed") { return key_from_seed(item[name].get<int64_t>()); }

Key words(const Json& item) { return {item[0].get<uint32_t>(), item[1].get<uint32_t>()}; }

bool close(double actual, double expected, double relative = 4e-7) {
  return std::abs(actual - expected) <= relative * std::abs(expected) + 1e-9;
}

// Elements 0, 1, ... of a fill function against the vector; and each against its element function.
template <class T, class Fill, class Element>
void compare(const Json& expected, double tolerance, Fill fill, Element element) {
  QVERIFY(!expected.empty());
  std::vector<T> values(expected.size());
  fill(values);
  for (size_t i = 0; i < values.size(); ++i) {
    const double want = expected[i].is_boolean() ? expected[i].get<bool>() : expected[i].get<double>();
    QVERIFY2(close(values[i], want, tolerance), qPrintable(QString("[%1] %2, not %3").arg(i).arg(values[i]).arg(want)));
    QCOMPARE(T(element(i)), values[i]);
  }
}

double initializer_scale(const std::string& name, const Json& shape) {
  const double last = shape.back(), before = shape[shape.size() - 2];
  double rest = 1;
  for (size_t i = 0; i + 2 < shape.size(); ++i) rest *= shape[i].get<double>();
  const double fan_in = before * rest, fan_out = last * rest;
  if (name == "lecun_normal") return std::sqrt(1 / fan_in) / 0.87962566103423978;
  if (name == "he_normal") return std::sqrt(2 / fan_in) / 0.87962566103423978;
  if (name == "xavier_uniform") return std::sqrt(3 * 2 / (fan_in + fan_out));
  if (name == "embed_default") return std::sqrt(1 / last);
  if (name == "normal_0.02") return 0.02;
  throw std::runtime_error("no such initializer: " + name);
}

float draw(const std::string& name, Key key, uint64_t index) {
  if (name == "lecun_normal" || name == "he_normal") return truncated_normal(key, index, -2, 2);
  return name == "xavier_uniform" ? uniform(key, index, -1, 1) : normal(key, index);
}

}  // namespace

class RandomTest : public QObject {
  Q_OBJECT

 private slots:
  void keys_are_those_of_jax() {
    for (const char* name : {"key", "key_large"}) QVERIFY(seeded(golden()[name]) == words(golden()[name]["words"]));
    QVERIFY(golden()["fold_in"].size() >= 4);
    for (const Json& item : golden()["fold_in"]) {
      QVERIFY(fold_in(seeded(item), item["data"].get<uint32_t>()) == words(item["words"]));
    }
    const Json& item = golden()["split"];
    for (size_t i = 0; i < item["n"].get<size_t>(); ++i) {
      QVERIFY(split(seeded(item), i) == (Key{item["words"][2 * i], item["words"][2 * i + 1]}));
    }
  }

  void draws_are_those_of_jax() {
    for (const char* name : {"bits", "bits_2d"}) {
      const Json& item = golden()[name];
      const Key key = seeded(item);
      compare<uint32_t>(
          item["values"], 0, [&](std::span<uint32_t> out) { fill_bits(key, 0, out); },
          [&](size_t i) { return random_bits(key, i); });
    }
    const Json& uniforms = golden()["uniform"];
    Key key = seeded(uniforms);
    compare<float>(
        uniforms["values"], 0, [&](std::span<float> out) { fill_uniform(key, 0, 0, 1, out); },
        [&](size_t i) { return uniform(key, i); });
    const Json& normals = golden()["normal"];
    key = seeded(normals);
    compare<float>(
        normals["values"], 4e-7, [&](std::span<float> out) { fill_normal(key, 0, out); },
        [&](size_t i) { return normal(key, i); });
    const Json& truncated = golden()["truncated_normal"];
    key = seeded(truncated);
    const float lower = truncated["lower"], upper = truncated["upper"];
    compare<float>(
        truncated["values"], 4e-7, [&](std::span<float> out) { fill_truncated_normal(key, 0, lower, upper, out); },
        [&](size_t i) { return truncated_normal(key, i, lower, upper); });
    const Json& kept = golden()["bernoulli"];
    key = seeded(kept);
    compare<uint8_t>(
        kept["values"], 0, [&](std::span<uint8_t> out) { fill_bernoulli(key, 0, kept["p"], out); },
        [&](size_t i) { return bernoulli(key, i, kept["p"]); });
    for (const Json& item : golden()["randint"]) {
      key = seeded(item);
      compare<int32_t>(
          item["values"], 0, [&](std::span<int32_t> out) { fill_randint(key, 0, item["low"], item["high"], out); },
          [&](size_t i) { return randint(key, i, item["low"], item["high"]); });
    }
  }

  void initializers_are_scaled_draws() {
    QVERIFY(golden()["initializers"].size() >= 7);
    for (const Json& item : golden()["initializers"]) {
      const std::string name = item["name"];
      const Json& shape = item["shape"];
      // A Flax DenseGeneral or NNX attention kernel would state the fans of its flattened form; these are plain arrays.
      const double scale = initializer_scale(name, shape);
      uint64_t count = 1;
      for (const Json& size : shape) count *= size.get<uint64_t>();
      for (uint64_t i = 0; i < 8; ++i) QVERIFY(close(draw(name, seeded(item), i) * scale, item["first8"][i], 1e-6));
      QVERIFY(close(draw(name, seeded(item), count - 1) * scale, item["last"], 1e-6));
    }
  }

  void linen_keys_follow_the_path_of_the_module() {
    const Json& parameters = golden()["linen_init"]["parameters"];
    const Key root = seeded(golden()["linen_init"]);
    int drawn = 0;
    for (const auto& [path, item] : parameters.items()) {
      std::vector<std::string> modules;
      std::istringstream stream(path);
      for (std::string part; std::getline(stream, part, '/');) modules.push_back(part);
      const std::string own = modules.back();
      modules.pop_back();
      if (own != "kernel" && own != "embedding") continue;
      const Json& shape = item["shape"];
      const uint64_t count = std::accumulate(shape.begin(), shape.end(), uint64_t{1},
                                             [](uint64_t n, const Json& size) { return n * size.get<uint64_t>(); });
      const Key key = linen_key(root, modules, 1);
      const bool embedding = own == "embedding";
      const double rows = shape[0], columns = shape[1];
      const double fan_in = modules.back() == "out" ? rows * columns : rows;
      const double scale = embedding ? std::sqrt(1 / columns) : std::sqrt(1 / fan_in) / 0.87962566103423978;
      const auto value = [&](uint64_t i) {
        return scale * (embedding ? normal(key, i) : truncated_normal(key, i, -2, 2));
      };
      for (uint64_t i = 0; i < 4; ++i) QVERIFY2(close(value(i), item["first4"][i], 1e-6), path.c_str());
      QVERIFY2(close(value(count - 1), item["last"], 1e-6), path.c_str());
      ++drawn;
    }
    QVERIFY(drawn >= 6);
  }

  void linen_and_nnx_dropout_masks_are_those_of_flax() {
    const Json& linen = golden()["linen_dropout"];
    const float keep = 1.0f - linen["rate"].get<float>();
    const std::vector<std::string> outer = {"Dropout_0"}, inner = {"inner", "Dropout_0"};
    const Key root = seeded(linen, "rng_seed");
    const Key first = linen_key(root, outer, 1), second = linen_key(root, inner, 1);
    for (size_t i = 0; i < linen["kept"].size(); ++i) {
      QCOMPARE(int(bernoulli(first, i, keep) && bernoulli(second, i, keep)), linen["kept"][i].get<int>());
    }
    const Json& nnx = golden()["nnx_dropout"];
    const Key drawn = nnx_key(nnx["seed"], 2);
    for (uint32_t call : {0u, 1u}) {
      const Json& kept = nnx["kept_call_" + std::to_string(call)];
      for (size_t i = 0; i < kept.size(); ++i) {
        QCOMPARE(int(bernoulli(fold_in(drawn, call), i, 1.0f - nnx["rate"].get<float>())), kept[i].get<int>());
      }
    }
  }

  void nnx_keys_count_the_draws() {
    const Json& item = golden()["nnx_keys"];
    for (uint32_t n = 0; n < item["words"].size(); ++n) {
      QVERIFY(nnx_key(item["seed"], n) == words(item["words"][n]));
    }
  }

  // Flax's examples give model.apply the rngs {"dropout": fold_in(PRNGKey(seed), step)}.
  void a_linen_step_key_is_the_modules_key_under_the_root_of_the_step() {
    const std::vector<std::string> path{"SelfAttentionBlock_0", "Dropout_1"};
    for (int64_t seed : {0, 7}) {
      const Key root = key_from_seed(seed);
      for (int64_t counter : {1, 2, 300}) {
        const StepKey key{root, 1, 0, linen_fold(path, counter)};
        for (int64_t step : {0, 1, 2, 1000}) {
          QVERIFY(key_at(key, step) == linen_key(fold_in(root, static_cast<uint32_t>(step)), path, counter));
        }
      }
    }
  }

  // flax.nnx.Dropout takes one key from its stream when it is made and counts its calls from then on.
  void an_nnx_step_key_counts_the_calls_of_its_stream() {
    const Key stream = nnx_key(3, 2);
    for (uint32_t calls : {1u, 2u, 5u}) {
      uint32_t n = 0;
      for (int64_t step = 0; step < 4; ++step) {
        for (uint32_t call = 0; call < calls; ++call) {
          QVERIFY(key_at({stream, calls, call, std::nullopt}, step) == fold_in(stream, n++));
        }
      }
    }
    const Json& nnx = golden()["nnx_dropout"];
    const float keep = 1.0f - nnx["rate"].get<float>();
    for (int step : {0, 1}) {
      const Key key = key_at({nnx_key(nnx["seed"], 2), 1, 0, std::nullopt}, step);
      const Json& kept = nnx["kept_call_" + std::to_string(step)];
      for (size_t i = 0; i < kept.size(); ++i) QCOMPARE(int(bernoulli(key, i, keep)), kept[i].get<int>());
    }
  }

  void a_fold_of_zero_is_not_no_fold() {
    const Key root = key_from_seed(1);
    QVERIFY(!(key_at({root, 1, 0, 0}, 4) == key_at({root, 1, 0, std::nullopt}, 4)));
  }

  void numpy_draws_are_those_of_numpy() {
    for (const Json& item : golden()["numpy_randint"]) {
      NumpyRandom random(item["seed"]);
      for (const Json& value : item["values"]) QCOMPARE(random.integer(item["n"]), value.get<int32_t>());
    }
    const Json& item = golden()["numpy_normal_then_choice"];
    NumpyRandom random(item["seed"]);
    const Json& expected = item["normal"];
    for (int i = 0; i < expected["n"].get<int>(); ++i) {
      const double value = random.normal(expected["loc"], expected["scale"]);
      if (i < 8) QVERIFY(close(value, expected["first8"][i], 1e-12));
    }
    for (const Json& choice : item["choice"]) {
      for (const Json& value : choice["values"]) QCOMPARE(random.integer(choice["n"]), value.get<int32_t>());
    }
  }

  void any_part_of_an_array_can_be_made_alone() {
    std::mt19937_64 random(1);
    for (int repeat = 0; repeat < 200; ++repeat) {
      const Key key = key_from_seed(static_cast<int64_t>(random()));
      const uint64_t around = repeat % 2 ? uint64_t{1} << 32 : 1000;  // the counter's high word too
      const uint64_t first = around - random() % 200;
      const size_t count = random() % 300;
      std::vector<float> normals(count), truncated(count), uniforms(count);
      std::vector<int32_t> integers(count);
      std::vector<uint8_t> kept(count);
      fill_normal(key, first, normals);
      fill_truncated_normal(key, first, -2, 2, truncated);
      fill_uniform(key, first, -3, 5, uniforms);
      fill_randint(key, first, -7, 1000003, integers);
      fill_bernoulli(key, first, 0.3f, kept);
      for (size_t i = 0; i < count; ++i) {
        QCOMPARE(normals[i], normal(key, first + i));
        QCOMPARE(truncated[i], truncated_normal(key, first + i, -2, 2));
        QCOMPARE(uniforms[i], uniform(key, first + i, -3, 5));
        QCOMPARE(integers[i], randint(key, first + i, -7, 1000003));
        QCOMPARE(bool(kept[i]), bernoulli(key, first + i, 0.3f));
      }
    }
  }

  void draws_stay_in_their_range_and_have_its_moments() {
    const size_t count = 1 << 20;
    std::vector<float> values(count);
    const auto moments = [&] {
      double sum = 0, squares = 0;
      for (float value : values) sum += value, squares += double(value) * value;
      return std::pair(sum / count, squares / count);
    };
    fill_normal(key_from_seed(3), 0, values);
    QVERIFY(std::abs(moments().first) < 5e-3 && std::abs(moments().second - 1) < 1e-2);
    fill_truncated_normal(key_from_seed(4), 0, -2, 2, values);
    QVERIFY(std::abs(moments().first) < 5e-3 && std::abs(std::sqrt(moments().second) - 0.87962566) < 5e-3);
    for (float value : values) QVERIFY(value > -2 && value < 2);
    fill_uniform(key_from_seed(5), 0, 2, 3, values);
    for (float value : values) QVERIFY(value >= 2 && value < 3);
  }
};

REGISTER_TEST(RandomTest)

}  // namespace random_test

#include "random_test.moc"
