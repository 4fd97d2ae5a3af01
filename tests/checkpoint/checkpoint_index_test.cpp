#include "engine/checkpoint/checkpoint_index.h"

#include <fmt/format.h>

#include <QtTest>
#include <algorithm>
#include <functional>
#include <limits>
#include <random>

#include "engine/base/hash.h"
#include "engine/checkpoint/box_cover.h"
#include "tests/checkpoint/made_checkpoint.h"
#include "tests/test_program.h"

namespace checkpoint_index_test {

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

// What somebody who knows the format can write.
std::string signed_text(const std::string& body) {
  return fmt::format("{{\"xxh3\": \"{:016x}\", \"checkpoint\":\n{}}}\n", hash_bytes(body), body);
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

  void the_identity_of_the_data_is_kept_and_may_be_missing() {
    CheckpointIndex index = small_index();
    index.data = DataIdentity{
        "text", {{"path", {{"deep/\"a\".txt", 1200, 0x0123456789abcdef}}}, {"validation_path", {{"v", 0, 1}}}}};
    QVERIFY(parse_checkpoint_index(write_checkpoint_index(index), "x") == index);
    index.data = DataIdentity{"zeros", {}};
    QVERIFY(parse_checkpoint_index(write_checkpoint_index(index), "x") == index);
    // As versions wrote it that did not know the data.
    index.data.reset();
    const std::string old = write_checkpoint_index(index);
    QVERIFY(old.find("\"data\"") == std::string::npos && old.find("\"format\":1,") != std::string::npos);
    QVERIFY(!parse_checkpoint_index(old, "x").data);
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
    QCOMPARE(code([](CheckpointIndex& index) { index.files[1].name = "../rank_00001.safetensors"; }), damaged);
  }

  void pieces_hold_each_element_exactly_once_data() {
    QTest::addColumn<QList<QList<int>>>("pieces");  // start and size of each, of (4, 2)
    QTest::addColumn<bool>("is_cover");
    using Pieces = QList<QList<int>>;
    QTest::newRow("halves") << Pieces{{0, 0, 2, 2}, {2, 0, 2, 2}} << true;
    QTest::newRow("halves, the last first") << Pieces{{2, 0, 2, 2}, {0, 0, 2, 2}} << true;
    QTest::newRow("no grid") << Pieces{{0, 0, 1, 2}, {1, 0, 3, 1}, {1, 1, 2, 1}, {3, 1, 1, 1}} << true;
    QTest::newRow("with an empty one") << Pieces{{0, 0, 4, 2}, {2, 1, 0, 1}} << true;
    QTest::newRow("the first half twice") << Pieces{{0, 0, 2, 2}, {0, 0, 2, 2}} << false;
    QTest::newRow("by a row") << Pieces{{0, 0, 2, 2}, {1, 0, 2, 2}} << false;
    QTest::newRow("in one element") << Pieces{{0, 0, 3, 1}, {2, 0, 1, 2}, {0, 1, 2, 1}, {3, 1, 1, 1}} << false;
    QTest::newRow("none") << Pieces{} << false;
  }
  void pieces_hold_each_element_exactly_once() {
    QFETCH(QList<QList<int>>, pieces);
    QFETCH(bool, is_cover);
    CheckpointIndex index = small_index();
    index.states[0].pieces.clear();
    for (const QList<int>& piece : pieces) {
      index.states[0].pieces.push_back({0, 64, {{piece[0], piece[1]}, {piece[2], piece[3]}}});
    }
    const Error error = error_of([&] { parse_checkpoint_index(write_checkpoint_index(index), ""); });
    QCOMPARE(error.code, is_cover ? std::string() : std::string("damaged_checkpoint"));
  }

  void a_scalar_has_one_piece_and_an_array_without_elements_any_empty_ones() {
    const auto code = [](const Shape& shape, size_t pieces) {
      CheckpointIndex index = small_index();
      index.states[0] = {"x", {shape, DType::f32}, true, {}};
      index.states[0].pieces.resize(pieces, {0, 0, {Shape(shape.size()), shape}});
      return error_of([&] { parse_checkpoint_index(write_checkpoint_index(index), ""); }).code;
    };
    QCOMPARE(code({}, 0), std::string("damaged_checkpoint"));
    QCOMPARE(code({}, 1), std::string());
    QCOMPARE(code({}, 2), std::string("damaged_checkpoint"));
    for (size_t pieces : {0, 1, 2}) QCOMPARE(code({3, 0}, pieces), std::string());
  }

  void a_name_is_of_one_state() {
    CheckpointIndex index = small_index();
    index.states.push_back(index.states[1]);
    QCOMPARE(error_of([&] { parse_checkpoint_index(write_checkpoint_index(index), ""); }).code,
             std::string("damaged_checkpoint"));
  }

  void any_cut_of_an_array_is_a_cover_and_with_one_piece_changed_is_none() {
    std::mt19937 random(5);
    const auto draw = [&](int64_t from, int64_t to) {
      return from + static_cast<int64_t>(random() % static_cast<uint64_t>(to - from + 1));
    };
    for (int repeat = 0; repeat < 200; ++repeat) {
      Shape shape(static_cast<size_t>(draw(1, 4)));
      for (int64_t& size : shape) size = draw(1, 9);
      std::vector<Box> boxes{{Shape(shape.size()), shape}};
      for (int cut = 0; cut < 20; ++cut) {
        Box& box = boxes[static_cast<size_t>(draw(0, std::ssize(boxes) - 1))];
        const auto dim = static_cast<size_t>(draw(0, std::ssize(shape) - 1));
        const int64_t first = draw(0, box.size[dim]);
        Box rest = box;
        box.size[dim] = first;
        rest.start[dim] += first;
        rest.size[dim] -= first;
        boxes.push_back(rest);
      }
      std::erase_if(boxes, [](const Box& box) { return element_count(box.size) == 0; });
      std::ranges::shuffle(boxes, random);
      std::vector<const Box*> all;
      for (const Box& box : boxes) all.push_back(&box);
      QVERIFY(covers_once(all, shape));
      if (boxes.size() == 1) continue;
      const Box last = boxes.back();
      boxes.back() = boxes.front();  // one twice, one not at all
      QVERIFY(!covers_once(all, shape));
      boxes.back() = last;
      all.pop_back();
      QVERIFY(!covers_once(all, shape));
    }
  }

  // Compared pair by pair these take 10^11 comparisons.
  void many_pieces_are_compared_at_once() {
    constexpr int64_t side = 700;
    std::vector<Box> boxes;
    for (int64_t row = 0; row < side; ++row) {
      for (int64_t column = 0; column < side; ++column) boxes.push_back({{row, column}, {1, 1}});
    }
    std::vector<const Box*> all;
    for (const Box& box : boxes) all.push_back(&box);
    QVERIFY(covers_once(all, {side, side}));
    boxes[77].start[0] = 1;
    QVERIFY(!covers_once(all, {side, side}));
  }

  void numbers_of_any_size_are_not_followed() {
    constexpr int64_t largest = std::numeric_limits<int64_t>::max(), smallest = std::numeric_limits<int64_t>::min();
    for (int64_t odd : {largest, smallest, int64_t{-1}, int64_t{1} << 62, int64_t{1} << 32}) {
      const std::function<void(CheckpointIndex&)> changes[] = {
          [&](CheckpointIndex& index) { index.files[0].bytes = odd; },
          [&](CheckpointIndex& index) { index.states[0].pieces[0].offset = odd; },
          [&](CheckpointIndex& index) { index.states[0].pieces[0].box.start[0] = odd; },
          [&](CheckpointIndex& index) {
            index.states[0].pieces[0].box.size = {odd, odd};
          },
          [&](CheckpointIndex& index) {
            index.states[0].type.shape = {odd, odd};
          },
          [&](CheckpointIndex& index) {
            index.states[0] = {"params/w", {{0, odd}, DType::f32}, true, {{0, 64, {{0, 0}, {0, odd}}}}};
          },
      };
      for (size_t i = 0; i < std::size(changes); ++i) {
        CheckpointIndex index = small_index();
        changes[i](index);
        const std::string text = write_checkpoint_index(index);
        if (i == 5 && odd > 0) continue;  // an array without elements may be as wide as it likes
        QCOMPARE(error_of([&] { parse_checkpoint_index(text, "DIR/index.json"); }).code,
                 std::string("damaged_checkpoint"));
      }
    }
  }

  void values_of_another_kind_are_not_followed_data() {
    QTest::addColumn<QString>("from");
    QTest::addColumn<QString>("to");
    QTest::newRow("a hash too long") << "0123456789abcdef"
                                     << "0123456789abcdef0";
    QTest::newRow("a hash that is none") << "0123456789abcdef"
                                         << "x";
    QTest::newRow("a hash with a sign") << "0123456789abcdef"
                                        << "-1";
    QTest::newRow("too many dimensions") << R"("shape":[4,2])"
                                         << R"("shape":[4,2,1,1,1,1,1,1])";
    QTest::newRow("a number of another kind") << R"("offset":64)"
                                              << R"("offset":"64")";
    QTest::newRow("a number with a fraction") << R"("offset":64)"
                                              << R"("offset":64.5)";
    QTest::newRow("an unknown dtype") << R"("dtype":"f32")"
                                      << R"("dtype":"f64")";
  }

  void values_of_another_kind_are_not_followed() {
    QFETCH(QString, from);
    QFETCH(QString, to);
    const QString text = QString::fromStdString(write_checkpoint_index(small_index()));
    QString body = text.mid(text.indexOf('\n') + 1).chopped(2);
    QVERIFY(body.contains(from));
    body.replace(from, to);
    const Error error = error_of([&] { parse_checkpoint_index(signed_text(body.toStdString()), "DIR/index.json"); });
    QCOMPARE(error.code, std::string("damaged_checkpoint"));
    QCOMPARE(error.place.file, std::string("DIR/index.json"));
  }
};

REGISTER_TEST(CheckpointIndexTest)

}  // namespace checkpoint_index_test

#include "checkpoint_index_test.moc"
