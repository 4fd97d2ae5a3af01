#include <fmt/format.h>

#include <QTemporaryDir>
#include <QtTest>
#include <cmath>
#include <fstream>
#include <map>
#include <random>

#include "engine/checkpoint/exported_array.h"
#include "engine/compile/training_graph.h"
#include "engine/machine/host_machine.h"
#include "engine/mesh/box_runs.h"
#include "tests/base/errors_of.h"
#include "tests/compile/system_preset.h"
#include "tests/test_program.h"
#include "tests/training/thread_training.h"

namespace load_weights_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

// 1 bit of sign, `exponent` bits, and the rest; without infinities.
double small_float(unsigned bits, int exponent, int fraction, int bias) {
  const auto e = static_cast<int>(bits >> fraction & ((1u << exponent) - 1)),
             f = static_cast<int>(bits & ((1u << fraction) - 1));
  const double size =
      e == 0 ? std::ldexp(f, 1 - bias - fraction) : std::ldexp((1 << fraction) + f, e - bias - fraction);
  return (bits >> (exponent + fraction) & 1) != 0 ? -size : size;
}

// A safetensors file of arrays of any type.
class ArrayWriter {
 public:
  void add(const std::string& name, const std::string& type, const Shape& shape, const std::string& bytes) {
    std::string sizes;
    for (int64_t size : shape) sizes += (sizes.empty() ? "" : ",") + std::to_string(size);
    header_ += fmt::format(R"({}"{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", header_.empty() ? "" : ",",
                           name, type, sizes, data_.size(), data_.size() + bytes.size());
    data_ += bytes;
  }
  void add(const std::string& name, const Shape& shape, const std::vector<float>& values) {
    add(name, "F32", shape, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
  }
  void write(const std::string& path) const {
    const std::string header = "{" + header_ + "}";
    const uint64_t length = header.size();
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(&length), sizeof length);
    file << header << data_;
  }

 private:
  std::string header_, data_;
};

// A preset's config in a folder of its own, with weights in the form that its family is published in.
class Published {
 public:
  Published(const std::string& preset, ExpertArrays experts, const std::vector<std::string>& settings)
      : preset_(preset), experts_(experts), settings_(settings) {
    const QString source = QString(SHARDSCOPE_SOURCE_DIR "/presets/models/%1/config.json").arg(preset.c_str());
    QFile::copy(source, folder_.filePath("config.json"));
    const ForwardGraph forward = build_forward(run({1, 1}));
    if (!forward.graph) throw Failure(forward.run.errors);
    for (const State& state : forward.graph->states)
      index_.states.push_back({forward.graph->name(state), forward.graph->type(state.before)});
  }

  RunConfig run(const std::vector<int64_t>& mesh) const {
    std::vector<std::string> settings{"model.path=" + folder_.path().toStdString(), "data.batch_size=4"};
    settings.insert(settings.end(), settings_.begin(), settings_.end());
    return system_run(preset_, settings, mesh);
  }

  // Matrices in FP8 with a scale for each block; other arrays in f32; and a layer of multi-token prediction.
  void write_fp8() {
    for (const ExportedArray& array : exported_arrays(index_, {.experts = experts_})) {
      const Shape shape = array.type.shape;
      std::vector<float> values(static_cast<size_t>(element_count(shape)));
      if (shape.size() != 2) {
        for (float& value : values) value = static_cast<float>(random_() % 1000) / 1000;
        file_.add(array.name, shape, values);
      } else {
        const int64_t blocks = (shape[1] + 127) / 128;
        std::vector<float> scales(static_cast<size_t>((shape[0] + 127) / 128 * blocks));
        for (float& scale : scales) scale = static_cast<float>(1 + random_() % 100) / 1000;
        std::string bytes(values.size(), ' ');
        for (int64_t i = 0; i < std::ssize(values); ++i) {
          unsigned bits = random_() % 256;
          if ((bits & 127) == 127) bits = 1;
          bytes[static_cast<size_t>(i)] = static_cast<char>(bits);
          const float scale = scales[static_cast<size_t>(i / shape[1] / 128 * blocks + i % shape[1] / 128)];
          values[static_cast<size_t>(i)] = static_cast<float>(small_float(bits, 4, 3, 7)) * scale;
        }
        file_.add(array.name, "F8_E4M3", shape, bytes);
        file_.add(array.name + "_scale_inv", {(shape[0] + 127) / 128, blocks}, scales);
      }
      expect(array, values);
    }
  }

  // Kernels of experts in MXFP4, all else in f32.
  void write_mxfp4() {
    for (const ExportedArray& array : exported_arrays(index_, {})) {
      const Shape shape = array.type.shape;
      std::vector<float> values(static_cast<size_t>(element_count(shape)));
      if (shape.size() != 3) {
        for (float& value : values) value = static_cast<float>(random_() % 1000) / 1000;
        file_.add(array.name, shape, values);
      } else {
        const int64_t columns = shape[1], rows = shape[2], groups = columns / 32;
        std::string blocks(values.size() / 2, '\0'), scales(values.size() / 32, '\0');
        for (char& scale : scales) scale = static_cast<char>(120 + random_() % 10);
        for (int64_t i = 0; i < std::ssize(values); ++i) {  // in the order of the blocks: (e, row, column)
          const unsigned bits = random_() % 16;
          blocks[static_cast<size_t>(i / 2)] |= static_cast<char>(bits << (i % 2 == 0 ? 0 : 4));
          const int64_t e = i / (rows * columns), r = i / columns % rows, c = i % columns;
          const double scale = std::ldexp(1, static_cast<uint8_t>(scales[static_cast<size_t>(i / 32)]) - 127);
          values[static_cast<size_t>((e * columns + c) * rows + r)] =
              static_cast<float>(small_float(bits, 2, 1, 1) * scale);
        }
        file_.add(array.name + "_blocks", "U8", {shape[0], rows, groups, 16}, blocks);
        file_.add(array.name + "_scales", "U8", {shape[0], rows, groups}, scales);
      }
      expect(array, values);
    }
  }

  // All in f32, with gate and up of a layer's experts in one array, as transformers 5 keeps them. An array in `renamed`
  // has another name.
  void write_joined(const std::map<std::string, std::string>& renamed = {}) {
    for (const ExportedArray& array : exported_arrays(index_, {})) {
      std::vector<float> values(static_cast<size_t>(element_count(array.type.shape)));
      for (float& value : values) value = static_cast<float>(random_() % 1000) / 1000;
      Shape shape = array.type.shape;
      if (shape.size() == 4) shape = {shape[0], shape[1] * shape[2], shape[3]};
      const auto other = renamed.find(array.name);
      file_.add(other == renamed.end() ? array.name : other->second, shape, values);
      expect(array, values);
    }
  }

  ArrayWriter& file() { return file_; }
  Shape shape(const std::string& state) const {
    return std::ranges::find(index_.states, state, &CheckpointState::name)->type.shape;
  }
  void finish() const { file_.write(folder_.filePath("model.safetensors").toStdString()); }
  const std::map<std::string, std::vector<float>>& expected() const { return expected_; }

 private:
  void expect(const ExportedArray& array, const std::vector<float>& values) {
    std::vector<float>& whole = expected_[array.state->name];
    whole.resize(static_cast<size_t>(element_count(array.state->type.shape)));
    const BoxRuns runs(array.state->type.shape, array.part);
    runs.for_each(
        [&](int64_t to, int64_t from) { std::copy_n(values.begin() + from, runs.run_length(), whole.begin() + to); });
  }

  std::string preset_;
  ExpertArrays experts_;
  std::vector<std::string> settings_;
  QTemporaryDir folder_;
  CheckpointIndex index_;
  ArrayWriter file_;
  std::map<std::string, std::vector<float>> expected_;
  std::mt19937 random_{3};
};

void compare(const Published& published) {
  for (const std::vector<int64_t>& mesh : {std::vector<int64_t>{1, 1}, {2, 2}, {1, 2}}) {
    const ThreadTraining start = train_in_threads(compile({published.run(mesh), reference_host()}), 0);
    QVERIFY(start.parameters.size() > 10);
    for (const auto& [name, values] : start.parameters) QVERIFY2(values == published.expected().at(name), name.c_str());
  }
}

std::string first_error(const Published& published) {
  const std::vector<Error> errors = errors_of([&] {
    train_in_threads(compile({published.run({1, 1}), reference_host()}), 0);
  });
  return errors.empty() ? "" : to_string(errors[0]);
}

}  // namespace

// Weights in the forms in which models are published, against values computed here.
class LoadWeightsTest : public QObject {
  Q_OBJECT

 private slots:
  void arrays_of_experts_in_fp8_are_read_on_every_mesh() {
    for (const auto& [preset, experts] :
         {std::pair{"deepseek_v3_tiny", ExpertArrays::by_expert}, {"mixtral_tiny", ExpertArrays::mixtral}}) {
      Published published(preset, experts, {"model.overrides.vocab_size=200"});
      published.write_fp8();
      published.finish();
      compare(published);
    }
  }

  void joined_arrays_of_experts_are_read_on_every_mesh() {
    for (const auto& [preset, experts] :
         {std::pair{"deepseek_v3_tiny", ExpertArrays::by_expert}, {"mixtral_tiny", ExpertArrays::mixtral}}) {
      Published published(preset, experts, {});
      published.write_joined();
      published.finish();
      compare(published);
    }
  }

  void mxfp4_is_read_on_every_mesh() {
    Published published("gpt_oss_tiny", ExpertArrays::joined, {});
    published.write_mxfp4();
    published.finish();
    compare(published);
  }

  void arrays_of_multi_token_prediction_are_skipped_and_others_are_not() {
    Published published("deepseek_v3_tiny", ExpertArrays::by_expert, {});
    published.write_fp8();
    published.file().add("model.layers.61.eh_proj.weight", {1}, {1});
    published.file().add("model.layers.61.self_attn.o_proj.weight", {1}, {1});
    published.finish();
    compare(published);
    published.file().add("model.layers.62.self_attn.o_proj.weight", {1}, {1});
    published.finish();
    QVERIFY(first_error(published).find("model.layers.62.self_attn.o_proj.weight") != std::string::npos);
  }

  void fp8_without_scales_and_experts_that_are_missing_are_refused_by_name() {
    Published scales("llama_tiny", ExpertArrays::joined, {});
    for (const char* name : {"model.embed_tokens.weight", "model.norm.weight"})
      scales.file().add(name, "F8_E4M3", {2}, "ab");
    scales.finish();
    QVERIFY2(first_error(scales).find("'model.embed_tokens.weight' is of F8_E4M3") != std::string::npos,
             first_error(scales).c_str());
    Published experts("mixtral_tiny", ExpertArrays::mixtral, {});
    experts.file().add("model.layers.0.block_sparse_moe.experts.0.w1.weight", {1, 1}, {1});
    experts.finish();
    QVERIFY2(first_error(experts).find("model.layers.0.block_sparse_moe.experts.0.w1.weight") != std::string::npos,
             first_error(experts).c_str());
  }

  // The embedding and the output layer of a model that ties them.
  void a_tied_parameter_is_read_under_either_name_and_both_where_they_are_the_same() {
    const std::string embedding = "model.embed_tokens.weight", head = "lm_head.weight";
    for (const char* settings : {"precision=f32", "precision=bf16_mixed"}) {
      Published alone("qwen3_tiny", ExpertArrays::joined, {settings});
      alone.write_joined({{embedding, head}});
      alone.finish();
      QVERIFY2(first_error(alone).empty(), first_error(alone).c_str());
      if (settings == std::string("precision=f32")) compare(alone);

      Published both("qwen3_tiny", ExpertArrays::joined, {settings});
      both.write_joined();
      std::vector<float> values = both.expected().at("params/model/embed_tokens/weight");
      const ArrayWriter before = both.file();
      const Shape shape = both.shape("params/model/embed_tokens/weight");
      both.file().add(head, shape, values);
      both.finish();
      QVERIFY2(first_error(both).empty(), first_error(both).c_str());

      both.file() = before;
      values.back() += 1;
      both.file().add(head, shape, values);
      both.finish();
      const std::string error = first_error(both);
      QVERIFY2(error.find("'lm_head.weight' and 'model.embed_tokens.weight' differ") != std::string::npos,
               error.c_str());

      both.file() = before;
      both.file().add(head, {1, 2}, {1, 2});
      both.finish();
      QVERIFY2(first_error(both).find("'lm_head.weight' is of shape (1, 2)") != std::string::npos,
               first_error(both).c_str());
    }
  }

  // Of any type, and of what no array of ours has.
  void arrays_that_are_no_weights_may_be_of_any_type() {
    Published published("llama_tiny", ExpertArrays::joined, {});
    published.write_joined();
    published.file().add("model.layers.0.attn.bias", "BOOL", {1, 1, 2, 2}, "abcd");
    published.file().add("model.layers.0.attn.masked_bias", "I64", {}, "12345678");
    published.finish();
    compare(published);
    Published wanted("llama_tiny", ExpertArrays::joined, {});
    wanted.file().add("model.embed_tokens.weight", "I64", {1}, "12345678");
    wanted.finish();
    QVERIFY2(first_error(wanted).find("'model.embed_tokens.weight' is of type I64") != std::string::npos,
             first_error(wanted).c_str());
  }

  // The master copy is not rounded to what the parameter is rounded to.
  void a_master_copy_is_read_as_its_parameter() {
    Published published("llama_tiny", ExpertArrays::joined, {"precision=bf16_mixed"});
    published.write_fp8();
    published.finish();
    const ThreadTraining start = train_in_threads(compile({published.run({2, 2}), reference_host()}), 0);
    int rounded = 0;
    for (const auto& [name, values] : published.expected()) {
      QVERIFY(start.optimizer.at("master/" + name) == values);
      rounded += start.parameters.at(name) != values;
    }
    QVERIFY(rounded > 5);
  }
};

REGISTER_TEST(LoadWeightsTest)

}  // namespace load_weights_test

#include "load_weights_test.moc"
