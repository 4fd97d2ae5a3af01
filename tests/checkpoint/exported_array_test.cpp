#include "engine/checkpoint/exported_array.h"

#include <QTemporaryDir>
#include <QtTest>
#include <random>
#include <span>

#include "tests/checkpoint/made_checkpoint.h"
#include "tests/test_program.h"

namespace exported_array_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

using Floats = std::vector<float>;

Floats floats_of(const Bytes& bytes) {
  Floats floats(bytes.size() / sizeof(float));
  std::memcpy(floats.data(), bytes.data(), bytes.size());
  return floats;
}

// A checkpoint of a weight with its adapter, of whole numbers between -8 and 8, and what is to be exported. `layers`:
// how many there are in one, of which each gives out / layers; 0: this is no dimension of it.
struct Layer {
  Layer(int64_t in, int64_t out, bool in_out, int64_t layers) {
    const int64_t rank = 3;
    std::mt19937 random(static_cast<uint32_t>(in * 100 + out));
    std::map<std::string, Floats> numbers;
    std::vector<StoredState> states;
    std::map<std::string, Bytes> values;
    const auto add = [&](const std::string& name, const Shape& shape) {
      states.push_back(
          {"params/c/" + name, {shape, DType::f32}, Sharding::replicated(static_cast<int>(shape.size())), true});
      Floats& list = numbers[name];
      for (int64_t i = 0; i < element_count(shape); ++i) list.push_back(static_cast<float>(random() % 17) - 8);
      const auto bytes = std::as_bytes(std::span(list));
      values[states.back().name] = Bytes(bytes.begin(), bytes.end());
    };
    if (layers == 0) {
      add("weight", in_out ? Shape{in, out} : Shape{out, in});
      add("lora_B/weight", {out, rank});
    } else {
      const int64_t each = out / layers;
      add("weight", in_out ? Shape{in, layers, each} : Shape{layers, each, in});
      add("lora_B/weight", {layers, each, rank});
    }
    add("lora_A/weight", {rank, in});
    merged = numbers["weight"];
    for (int64_t i = 0; i < in; ++i) {
      for (int64_t o = 0; o < out; ++o) {
        float& value = merged[static_cast<size_t>(in_out ? i * out + o : o * in + i)];
        for (int64_t k = 0; k < rank; ++k) {
          value += 2 * numbers["lora_B/weight"][static_cast<size_t>(o * rank + k)] *
                   numbers["lora_A/weight"][static_cast<size_t>(k * in + i)];
        }
      }
    }
    const FileCalls calls;
    CheckpointFolder checkpoints(folder.path().toStdString(), calls);
    path = make_checkpoint(checkpoints, folder.path().toStdString(), calls, states, Mesh({{"data", 1}}), 1, values);
  }

  QTemporaryDir folder;
  std::string path;
  Floats merged;
};

}  // namespace

class ExportedArrayTest : public QObject {
  Q_OBJECT

 private slots:
  // Square weights too, of which the shape does not say which way they are stored. Of several layers, as one.
  void adapters_are_added_to_weights_as_these_are_stored() {
    for (bool in_out : {false, true}) {
      for (const auto& [in, out, layers] :
           {std::tuple{4, 4, 0}, std::tuple{3, 5, 0}, std::tuple{6, 2, 0}, std::tuple{4, 6, 3}, std::tuple{3, 8, 2}}) {
        const Layer layer(in, out, in_out, layers);
        CheckpointReader checkpoint(layer.path);
        const ModelExport how{.adapter_scale = 2, .in_out = in_out};
        const std::vector<ExportedArray> arrays = exported_arrays(checkpoint.index(), how);
        QCOMPARE(arrays.size(), size_t{1});
        QCOMPARE(arrays[0].name, std::string("c.weight"));
        const Shape& shape = arrays[0].type.shape;
        QCOMPARE(shape, in_out ? (Shape{in, out}) : (Shape{out, in}));
        Bytes bytes, part;
        read(checkpoint, arrays[0], how, {{0, 0}, shape}, bytes);
        QCOMPARE(floats_of(bytes), layer.merged);
        const Box box{{1, 1}, {shape[0] - 1, shape[1] - 1}};
        read(checkpoint, arrays[0], how, box, part);
        QCOMPARE(part, part_of(bytes, arrays[0].type, box));
      }
    }
  }
};

REGISTER_TEST(ExportedArrayTest)

}  // namespace exported_array_test

#include "exported_array_test.moc"
