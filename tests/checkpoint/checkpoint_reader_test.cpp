#include "engine/checkpoint/checkpoint_reader.h"

#include <sys/stat.h>

#include <QTemporaryDir>
#include <QtTest>
#include <filesystem>
#include <stop_token>

#include "engine/base/cancelled.h"
#include "engine/checkpoint/export_model.h"
#include "engine/checkpoint/export_parameters.h"
#include "engine/checkpoint/safetensors_reader.h"
#include "tests/checkpoint/made_checkpoint.h"
#include "tests/test_program.h"

namespace checkpoint_reader_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

Sharding random_sharding(std::mt19937& random, const Mesh& mesh, const Shape& shape) {
  Sharding sharding = Sharding::replicated(static_cast<int>(shape.size()));
  for (int axis = 0; axis < mesh.axis_count() && !shape.empty(); ++axis) {
    Sharding next = sharding;
    next.dims[random() % shape.size()].push_back(static_cast<AxisIndex>(axis));
    if (random() % 3 != 0 && divides(next, mesh, shape)) sharding = next;
  }
  return sharding;
}

Mesh random_mesh(std::mt19937& random) {
  std::vector<MeshAxis> axes;
  for (const char* name : {"data", "model", "expert"})
    axes.push_back({name, int64_t{1} << random() % 2 * (1 + axes.empty())});
  return Mesh(axes);
}

std::vector<StoredState> random_states(std::mt19937& random, const Mesh& mesh, int64_t most) {
  std::vector<StoredState> states;
  for (int i = 0; i < 6; ++i) {
    Shape shape(random() % 4);
    for (int64_t& size : shape) size = int64_t{4} << random() % most;
    const DType dtype = static_cast<DType>(random() % 3);
    states.push_back(
        {"params/w" + std::to_string(i), {shape, dtype}, random_sharding(random, mesh, shape), i % 2 == 0});
  }
  return states;
}

// A state of some MiB, split by rows over two files.
const Mesh two({{"data", 2}});
std::vector<StoredState> large_states() {
  Sharding rows = Sharding::replicated(2);
  rows.dims[0].push_back(0);
  return {{"params/large", {{2048, 640}, DType::f32}, rows, true},
          {"params/small", {{3}, DType::f32}, Sharding::replicated(1), true}};
}

}  // namespace

class CheckpointReaderTest : public QObject {
  Q_OBJECT

 private slots:
  // Law 6, of arrays of any kind on meshes of any kind.
  void what_one_mesh_wrote_any_other_reads_bit_for_bit() {
    std::mt19937 random(1);
    for (int repeat = 0; repeat < 40; ++repeat) {
      QTemporaryDir folder;
      const Mesh writer = random_mesh(random), reader_mesh = random_mesh(random);
      const std::vector<StoredState> states = random_states(random, writer, repeat % 6 == 0 ? 5 : 3);
      const std::string path = make_checkpoint(folder.path().toStdString(), states, writer);
      const std::map<std::string, Bytes> values = made_values(states, 1);
      for (int device = 0; device < reader_mesh.device_count(); ++device) {
        CheckpointReader reader(path);
        std::vector<Bytes> held;
        std::vector<CheckpointReader::Request> requests;
        for (const CheckpointState& state : reader.index().states) {
          const Sharding sharding = random_sharding(random, reader_mesh, state.type.shape);
          const Box box = shard_box(sharding, reader_mesh, state.type.shape, device);
          held.emplace_back(static_cast<size_t>(TensorType{box.size, state.type.dtype}.bytes()));
          requests.push_back({&state, box, {}});
        }
        for (size_t i = 0; i < held.size(); ++i) requests[i].out = held[i];
        reader.read(requests);
        for (size_t i = 0; i < held.size(); ++i) {
          const CheckpointState& state = *requests[i].state;
          QVERIFY(held[i] == part_of(values.at(state.name), state.type, requests[i].box));
        }
      }
    }
  }

  void each_part_is_written_once_by_the_lowest_rank_that_holds_it() {
    const Mesh mesh({{"data", 2}, {"model", 2}});
    Sharding columns = Sharding::replicated(2);
    columns.dims[1].push_back(1);
    const CheckpointIndex index = lay_out_checkpoint(
        {{"bias", {{8}, DType::f32}, Sharding::replicated(1)}, {"kernel", {{4, 8}, DType::f32}, columns}}, mesh);
    QCOMPARE(index.files.size(), size_t{2});
    QCOMPARE(index.files[1].name, std::string("rank_00001.safetensors"));
    QCOMPARE(index.states[0].pieces.size(), size_t{1});
    QCOMPARE(index.states[1].pieces.size(), size_t{2});
    QCOMPARE(index.bytes(), file_layout(index, 0).bytes() + file_layout(index, 1).bytes());
  }

  void any_flipped_bit_is_named_with_file_state_and_block() {
    QTemporaryDir folder;
    const std::string path = make_checkpoint(folder.path().toStdString(), large_states(), two);
    const CheckpointReader whole(path);
    std::mt19937 random(3);
    for (int repeat = 0; repeat < 24; ++repeat) {
      const size_t number = random() % 2;
      const CheckpointFile& file = whole.index().files[number];
      const int64_t header = static_cast<int64_t>(file_layout(whole.index(), static_cast<int>(number)).header().size());
      // Now and then in the header, else anywhere.
      const auto at = static_cast<int64_t>(random() % static_cast<uint32_t>(repeat % 4 == 0 ? header : file.bytes));
      const std::string name = path + "/" + file.name, text = text_of(name);
      std::string flipped = text;
      flipped[static_cast<size_t>(at)] = static_cast<char>(flipped[static_cast<size_t>(at)] ^ 1 << random() % 8);
      put_text(name, flipped);
      const Error error = error_of([&] { CheckpointReader(path).verify(); });
      put_text(name, text);
      QCOMPARE(error.code, std::string("damaged_checkpoint"));
      QCOMPARE(error.place.file, name);
      const int64_t block = at / checkpoint_block_bytes + 1;
      QVERIFY2(error.message.starts_with("block " + std::to_string(block) + " of 3 ("), error.message.c_str());
      QVERIFY(error.message.find(block == 1 ? "(the header, params/large" : "(params/large") != std::string::npos);
    }
    CheckpointReader(path).verify();
  }

  void a_missing_or_short_or_long_file_is_named() {
    QTemporaryDir folder;
    const std::string path = make_checkpoint(folder.path().toStdString(), large_states(), two);
    const CheckpointReader whole(path);
    std::vector<std::string> names{index_file_name};
    for (const CheckpointFile& file : whole.index().files) names.push_back(file.name);
    for (const std::string& name : names) {
      const std::string file = path + "/" + name, text = text_of(file);
      for (const std::string& other : {std::string(), text.substr(0, text.size() - 1), text + "x"}) {
        put_text(file, other);
        const Error error = error_of([&] { CheckpointReader(path).verify(); });
        QCOMPARE(error.code, std::string("damaged_checkpoint"));
        QCOMPARE(error.place.file, file);
      }
      std::filesystem::remove(file);
      const Error error = error_of([&] { CheckpointReader(path).verify(); });
      QCOMPARE(error.code, std::string("damaged_checkpoint"));
      QCOMPARE(error.place.file, file);
      QVERIFY2(error.message.find("missing") != std::string::npos, error.message.c_str());
      put_text(file, text);
    }
    CheckpointReader(path).verify();
    QCOMPARE(error_of([&] { CheckpointReader(path + "_none"); }).code, std::string("no_checkpoint"));
  }

  void a_checkpoint_that_is_removed_while_it_is_read_is_not_damaged() {
    QTemporaryDir folder;
    const std::string path = make_checkpoint(folder.path().toStdString(), large_states(), two);
    CheckpointReader reader(path);
    const CheckpointState& small = *reader.index().by_name().at("params/small");
    Bytes out(12);
    const CheckpointReader::Request request{&small, {{0}, {3}}, out};
    std::filesystem::rename(path, path + ".gone");
    for (const Error& error : {error_of([&] { reader.verify(); }), error_of([&] {
                                 reader.read({&request, 1});
                               }),
                               error_of([&] { CheckpointReader again(path); })}) {
      QCOMPARE(error.code, std::string("no_checkpoint"));
      QCOMPARE(error.place.file, path);
    }
    std::filesystem::rename(path + ".gone", path);
    reader.verify();
  }

  // Opening a FIFO waits for a writer.
  void what_is_no_regular_file_is_refused_without_waiting() {
    QTemporaryDir folder;
    const std::string path = make_checkpoint(folder.path().toStdString(), large_states(), two);
    for (const std::string& name : {path + "/rank_00000.safetensors", path + "/index.json"}) {
      std::filesystem::remove(name);
      QVERIFY(::mkfifo(name.c_str(), 0600) == 0);
      const Error error = error_of([&] { CheckpointReader(path).verify(); });
      QCOMPARE(error.code, std::string("unreadable_checkpoint"));
      QCOMPARE(error.place.file, name);
      QVERIFY2(error.message.find("FIFO") != std::string::npos, error.message.c_str());
    }
    QVERIFY(!has_checkpoint_index(path));
  }

  void an_index_that_speaks_of_more_than_a_file_holds_is_not_followed() {
    QTemporaryDir folder(scratch());
    const std::string made = make_checkpoint(folder.path().toStdString(), large_states(), two);
    const std::string path = made + "/" + index_file_name;
    CheckpointIndex index = parse_checkpoint_index(text_of(path), path);
    index.states[1].name = std::string(8 << 20, 'n');  // then the header is longer than the file
    put_text(path, write_checkpoint_index(index));
    const Error error = error_of([&] { CheckpointReader(made).verify(); });
    QCOMPARE(error.code, std::string("damaged_checkpoint"));
    QVERIFY(to_string(error.place).starts_with(made));
  }

  void only_the_blocks_that_are_asked_for_are_read() {
    QTemporaryDir folder;
    const std::string path = make_checkpoint(folder.path().toStdString(), large_states(), two);
    const std::string name = path + "/rank_00001.safetensors";
    std::string text = text_of(name);
    text.back() = static_cast<char>(text.back() ^ 1);  // in the last block, with the last rows
    put_text(name, text);
    CheckpointReader reader(path);
    const CheckpointState& large = *reader.index().by_name().at("params/large");
    const auto read_rows = [&](int64_t first, int64_t count) {
      Bytes out(static_cast<size_t>(count * 640 * 4));
      const CheckpointReader::Request request{&large, {{first, 0}, {count, 640}}, out};
      reader.read({&request, 1});
      return out;
    };
    QVERIFY(read_rows(1000, 400) ==
            part_of(made_values(large_states(), 1).at("params/large"), large.type, {{1000, 0}, {400, 640}}));
    QCOMPARE(error_of([&] { read_rows(2000, 48); }).code, std::string("damaged_checkpoint"));
  }

  void what_differs_from_the_run_is_said_state_by_state() {
    const std::vector<StoredState> states = large_states();
    CheckpointIndex index = lay_out_checkpoint(states, two);
    index.model = "made";
    QVERIFY(differences(index, "x", "made", states, true).empty());
    QCOMPARE(differences(index, "x", "other", states, true).size(), size_t{1});
    std::vector<StoredState> others = states;
    others[0].type.shape = {2048, 320};
    others[1].name = "params/tiny";
    const std::vector<Error> errors = differences(index, "x", "made", others, true);
    QCOMPARE(errors.size(), size_t{3});
    QVERIFY(errors[0].message.find("(2048, 640) here, and (2048, 320)") != std::string::npos);
    QVERIFY(errors[1].message.find("no 'params/tiny'") != std::string::npos);
    QVERIFY(errors[2].message.find("'params/small'") != std::string::npos);
    QCOMPARE(differences(index, "x", "made", others, false).size(), size_t{2});
    for (const Error& error : errors) QCOMPARE(error.place.file, std::string("x"));
  }

  void exported_parameters_are_the_whole_arrays_under_their_names() {
    QTemporaryDir folder;
    std::vector<StoredState> states = large_states();
    states.push_back({"optimizer/mu", {{5}, DType::f32}, Sharding::replicated(1), false});
    CheckpointReader reader(make_checkpoint(folder.path().toStdString(), states, two));
    const std::string out = folder.filePath("out").toStdString();
    put_text(out, "");
    export_parameters(reader, out);
    SafetensorsReader file(out);
    QCOMPARE(file.arrays().size(), size_t{2});
    for (const auto& [name, array] : file.arrays()) {
      Bytes bytes(static_cast<size_t>(array.type.bytes()));
      file.read(array, bytes);
      QVERIFY(bytes == made_values(states, 1).at(name));
    }
    std::stop_source stop;
    stop.request_stop();
    QVERIFY_THROWS_EXCEPTION(Cancelled, export_parameters(reader, out, stop.get_token()));
    QVERIFY_THROWS_EXCEPTION(Cancelled, export_model(reader, folder.path().toStdString(), {}, stop.get_token()));
  }

  void a_file_that_is_no_safetensors_is_refused() {
    QTemporaryDir folder;
    const std::string path = folder.filePath("file").toStdString();
    const std::string header = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
    const auto with_length = [](const std::string& text) {
      return std::string(1, static_cast<char>(text.size())) + std::string(7, '\0') + text;
    };
    put_text(path, with_length(header) + "12345678");
    QCOMPARE(SafetensorsReader(path).arrays().at("a").type, (TensorType{{2}, DType::f32}));
    std::vector<std::string> wrong{"",
                                   "1234567",
                                   with_length(header),
                                   with_length(header) + "1234567",
                                   with_length("{\"a\":1}"),
                                   with_length("[]") + "12345678"};
    for (const char* change : {"F64", "[3]", "[0,4]", "[8,0]", "[-8,0]"}) {
      std::string other = header;
      const std::string from = change[0] == 'F' ? "F32" : change[2] == ']' ? "[2]" : "[0,8]";
      wrong.push_back(with_length(other.replace(other.find(from), from.size(), change)) + "12345678");
    }
    for (const std::string& text : wrong) {
      put_text(path, text);
      const Error error = error_of([&] { SafetensorsReader reader(path); });
      QVERIFY2(error.code == "unreadable_file" && error.place.file == path, text.c_str());
    }
  }
};

REGISTER_TEST(CheckpointReaderTest)

}  // namespace checkpoint_reader_test

#include "checkpoint_reader_test.moc"
