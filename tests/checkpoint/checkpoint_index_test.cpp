#include "engine/checkpoint/checkpoint_index.h"

#include <QtTest>

#include "tests/checkpoint/made_checkpoint.h"

using namespace shardscope;
using namespace shardscope::test;

namespace {

CheckpointIndex small_index() {
  CheckpointIndex index;
  index.model = "tiny \"lm\"";
  index.step = 120;
  index.mesh = "data 2";
  index.run_file = "{\n}\n";
  index.files = {{"rank_00000.safetensors", 0, (int64_t{1} << 20) + 8, {0x0123456789abcdef, 0xffffffffffffffff}},
                 {"rank_00001.safetensors", 1, 80, {7}}};
  index.states = {{"params/w", {{4, 2}, DType::f32}, true, {{0, 64, {{0, 0}, {2, 2}}}, {1, 64, {{2, 0}, {2, 2}}}}},
                  {"optimizer/count", {{}, DType::i32}, false, {{0, 80, {}}}}};
  return index;
}

}  // namespace

class CheckpointIndexTest : public QObject {
  Q_OBJECT

 private slots:
  void what_is_read_is_what_was_written() {
    const CheckpointIndex index = small_index();
    QVERIFY(parse_checkpoint_index(write_checkpoint_index(index), "x") == index);
    QCOMPARE(index.bytes(), (int64_t{1} << 20) + 88);
    QCOMPARE(index.by_name().at("optimizer/count")->type.dtype, DType::i32);
  }

  void every_flipped_bit_of_an_index_is_noticed() {
    const std::string text = write_checkpoint_index(small_index());
    for (size_t bit = 0; bit < 8 * text.size(); ++bit) {
      std::string flipped = text;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
      const Error error = error_of([&] { parse_checkpoint_index(flipped, "DIR/index.json"); });
      QCOMPARE(error.code, std::string("damaged_checkpoint"));
      QCOMPARE(error.place.file, std::string("DIR/index.json"));
    }
  }

  void an_index_that_is_cut_or_grown_anywhere_is_noticed() {
    const std::string text = write_checkpoint_index(small_index());
    for (size_t length = 0; length < text.size(); ++length) {
      QCOMPARE(error_of([&] { parse_checkpoint_index(text.substr(0, length), ""); }).code,
               std::string("damaged_checkpoint"));
    }
    QCOMPARE(error_of([&] { parse_checkpoint_index(text + " ", ""); }).code, std::string("damaged_checkpoint"));
  }

  void an_index_that_contradicts_itself_is_not_followed() {
    const auto code = [](const std::function<void(CheckpointIndex&)>& change) {
      CheckpointIndex index = small_index();
      change(index);
      return error_of([&] { parse_checkpoint_index(write_checkpoint_index(index), ""); }).code;
    };
    const std::string damaged = "damaged_checkpoint";
    QCOMPARE(code([](CheckpointIndex&) {}), std::string());
    QCOMPARE(code([](CheckpointIndex& index) { index.states[0].pieces[1].file = 2; }), damaged);
    QCOMPARE(code([](CheckpointIndex& index) { index.states[0].pieces[1].offset = 72; }), damaged);
    QCOMPARE(code([](CheckpointIndex& index) { index.states[0].pieces[1].box.start[0] = 3; }), damaged);
    QCOMPARE(code([](CheckpointIndex& index) { index.states[0].pieces.pop_back(); }), damaged);
    QCOMPARE(code([](CheckpointIndex& index) { index.files[1].blocks.clear(); }), damaged);
  }
};

QTEST_APPLESS_MAIN(CheckpointIndexTest)
#include "checkpoint_index_test.moc"
