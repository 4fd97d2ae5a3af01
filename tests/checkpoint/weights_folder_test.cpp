#include "engine/checkpoint/weights_folder.h"

#include <QTemporaryDir>
#include <QtTest>
#include <fstream>

#include "engine/base/bfloat16.h"
#include "tests/base/errors_of.h"
#include "tests/test_program.h"

namespace weights_folder_test {

using namespace shardscope;

namespace {

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

class Folder {
 public:
  std::string path() const { return folder_.path().toStdString(); }
  // A safetensors file with one array.
  void write(const std::string& file, const std::string& array, const char* dtype, const std::string& shape,
             const std::string& bytes) const {
    const std::string header = "{\"" + array + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
                               ",\"data_offsets\":[0," + std::to_string(bytes.size()) + "]}}";
    const uint64_t length = header.size();
    std::ofstream out(path() + "/" + file, std::ios::binary);
    out.write(reinterpret_cast<const char*>(&length), sizeof length);
    out << header << bytes;
  }
  // One with two arrays of one element each, of this value.
  void write_two(const std::string& file, const std::string& first, const std::string& second, float value) const {
    std::string header;
    for (const auto& [name, offsets] : {std::pair{first, "[0,4]"}, {second, "[4,8]"}}) {
      header += (header.empty() ? "{\"" : ",\"") + name +
                "\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":" + offsets + "}";
    }
    header += "}";
    const uint64_t length = header.size();
    std::ofstream out(path() + "/" + file, std::ios::binary);
    out.write(reinterpret_cast<const char*>(&length), sizeof length);
    out << header << bytes_of(std::vector<float>{value, value});
  }
  void write_index(const std::string& text) const { std::ofstream(path() + "/model.safetensors.index.json") << text; }

 private:
  QTemporaryDir folder_;
};

std::vector<float> read(const WeightsFolder& weights, const std::string& name, const Box& box) {
  std::vector<float> values(static_cast<size_t>(element_count(box.size)));
  weights.read(name, box, values);
  return values;
}

}  // namespace

class WeightsFolderTest : public QObject {
  Q_OBJECT

 private slots:
  void a_box_of_an_array_is_read_in_every_type_as_f32() {
    const Box columns{{0, 1}, {2, 2}};
    const std::vector<float> expected{2, 3, 5, 6};
    const std::vector<float> all{1, 2, 3, 4, 5, 6};
    std::vector<BFloat16> half;
    for (float value : all) half.push_back(to_bfloat16(value));
    const std::vector<uint16_t> f16{0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600};
    for (const auto& [dtype, bytes] : std::vector<std::pair<const char*, std::string>>{
             {"F32", bytes_of(all)}, {"BF16", bytes_of(half)}, {"F16", bytes_of(f16)}}) {
      const Folder folder;
      folder.write("model.safetensors", "a.weight", dtype, "[2,3]", bytes);
      const WeightsFolder weights(folder.path());
      QVERIFY(*weights.find("a.weight") == (Shape{2, 3}));
      QVERIFY2(read(weights, "a.weight", columns) == expected, dtype);
      QVERIFY2(read(weights, "a.weight", {{0, 0}, {2, 3}}) == all, dtype);
    }
  }

  void an_index_names_the_file_of_each_array() {
    const Folder folder;
    folder.write("one.safetensors", "a", "F32", "[1]", bytes_of(std::vector<float>{1}));
    folder.write("two.safetensors", "b", "F32", "[1]", bytes_of(std::vector<float>{2}));
    folder.write_index(R"({"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}})");
    const WeightsFolder weights(folder.path());
    QVERIFY((weights.names() == std::vector<std::string>{"a", "b"}));
    QCOMPARE(read(weights, "b", {{0}, {1}})[0], 2.0f);
    QVERIFY(!weights.find("c"));
  }

  // Whichever of two files comes first by its name.
  void an_array_is_that_of_the_file_which_the_index_names() {
    for (const auto& [named, other] : {std::pair{"one", "two"}, {"two", "one"}}) {
      const Folder folder;
      const std::string file = std::string(named) + ".safetensors", stale = std::string(other) + ".safetensors";
      folder.write(file, "a", "F32", "[1]", bytes_of(std::vector<float>{1}));
      folder.write_two(stale, "a", "b", 2);
      folder.write_index("{\"weight_map\": {\"a\": \"" + file + "\", \"b\": \"" + stale + "\"}}");
      const WeightsFolder weights(folder.path());
      QCOMPARE(read(weights, "a", {{0}, {1}})[0], 1.0f);
      QCOMPARE(read(weights, "b", {{0}, {1}})[0], 2.0f);
      folder.write(file, "c", "F32", "[1]", bytes_of(std::vector<float>{1}));  // "a" is in the other file alone
      QCOMPARE(error_of([&] { WeightsFolder(folder.path()); }).code, std::string("unreadable_file"));
    }
  }

  void an_array_of_two_files_that_the_index_does_not_name_is_an_error() {
    const Folder folder;
    folder.write_two("one.safetensors", "a", "twice", 1);
    folder.write_two("two.safetensors", "b", "twice", 2);
    folder.write_index(R"({"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}})");
    const std::string error = to_string(error_of([&] { WeightsFolder(folder.path()); }));
    QVERIFY2(error.find("'twice'") != std::string::npos, error.c_str());
  }

  // As transformers takes it; what the index names need not exist then.
  void a_whole_file_goes_before_an_index() {
    const Folder folder;
    folder.write("model.safetensors", "a", "F32", "[1]", bytes_of(std::vector<float>{1}));
    folder.write_index(R"({"weight_map": {"a": "model-00001-of-00002.safetensors"}})");
    QCOMPARE(read(WeightsFolder(folder.path()), "a", {{0}, {1}})[0], 1.0f);
  }

  void a_wrong_index_is_an_error_that_says_what_is_wrong() {
    const Folder folder;
    folder.write("one.safetensors", "a", "F32", "[1]", bytes_of(std::vector<float>{1}));
    for (const char* index :
         {"", "{", "[]", "{}", R"({"weight_map": []})", R"({"weight_map": {"a": 1}})",
          R"({"weight_map": {"a": "../one.safetensors"}})", R"({"weight_map": {"a": "/one.safetensors"}})",
          R"({"weight_map": {"a": "one.safetensors", "b": "one.safetensors"}})"}) {
      folder.write_index(index);
      QCOMPARE(error_of([&] { WeightsFolder weights(folder.path()); }).code, std::string("unreadable_file"));
    }
    folder.write_index(R"({"weight_map": {"a": "missing.safetensors"}})");
    QVERIFY(to_string(error_of([&] { WeightsFolder weights(folder.path()); })).find("missing.safetensors") !=
            std::string::npos);
  }

  void a_shortened_file_and_numbers_that_are_no_weights_are_errors() {
    const Folder folder;
    folder.write("model.safetensors", "a", "F32", "[4]", bytes_of(std::vector<float>{1, 2}));
    QCOMPARE(error_of([&] { WeightsFolder weights(folder.path()); }).code, std::string("unreadable_file"));
    folder.write("model.safetensors", "a", "I32", "[2]", bytes_of(std::vector<int32_t>{1, 2}));
    const WeightsFolder integers(folder.path());
    QCOMPARE(error_of([&] { read(integers, "a", {{0}, {2}}); }).code, std::string("unreadable_file"));
    for (const auto& [type, shape] : {std::pair{"BOOL", "[2]"}, {"I16", "[1]"}, {"U8", "[1,1,1,1,1,1,2]"}}) {
      folder.write("model.safetensors", "a", type, shape, "ab");
      const WeightsFolder unreadable(folder.path());
      QVERIFY(unreadable.names() == std::vector<std::string>{"a"} && !unreadable.find("b"));
      const Error error = error_of([&] { unreadable.find("a"); });
      QVERIFY2(error.message.find("'a' ") == 0, error.message.c_str());
      QCOMPARE(error.place.file, folder.path() + "/model.safetensors");
    }
  }
};

REGISTER_TEST(WeightsFolderTest)

}  // namespace weights_folder_test

#include "weights_folder_test.moc"
