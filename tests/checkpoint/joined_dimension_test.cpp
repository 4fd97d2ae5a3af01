#include "engine/checkpoint/joined_dimension.h"

#include <QTemporaryDir>
#include <QtTest>

#include "engine/checkpoint/exported_array.h"
#include "tests/checkpoint/made_checkpoint.h"
#include "tests/test_program.h"

namespace joined_dimension_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

Box random_box(const Shape& shape, std::mt19937& random) {
  Box box;
  for (const int64_t size : shape) {
    box.start.push_back(random() % size);
    box.size.push_back(1 + random() % (size - box.start.back()));
  }
  return box;
}

// Row-major, of an array of this shape.
void append_places(const Shape& shape, const Box& box, std::vector<int64_t>& places) {
  for (int64_t i = 0; i < element_count(box.size); ++i) {
    int64_t rest = i, place = 0, stride = 1;
    for (size_t d = shape.size(); d-- > 0; rest /= box.size[d], stride *= shape[d])
      place += (box.start[d] + rest % box.size[d]) * stride;
    places.push_back(place);
  }
}

}  // namespace

class JoinedDimensionTest : public QObject {
  Q_OBJECT

 private slots:
  void one_dimension_may_stand_for_two_and_nothing_else() {
    QCOMPARE(joined_dimension({8, 56, 16}, {8, 2, 28, 16}), std::optional<size_t>(1));
    QCOMPARE(joined_dimension({56}, {2, 28}), std::optional<size_t>(0));
    QCOMPARE(joined_dimension({16, 56}, {16, 2, 28}), std::optional<size_t>(1));
    QCOMPARE(joined_dimension({3, 2}, {3, 2, 1}), std::optional<size_t>(1));
    QVERIFY(!joined_dimension({8, 56, 16}, {8, 56, 16}));
    QVERIFY(!joined_dimension({8, 56, 16}, {8, 2, 27, 16}));
    QVERIFY(!joined_dimension({8, 56, 16}, {8, 2, 28, 8, 2}));
    QVERIFY(!joined_dimension({8, 56, 16}, {8, 2, 28, 8}));
  }

  // Random shapes, and random boxes of them.
  void a_box_of_a_state_is_read_from_a_checkpoint_that_holds_it_joined() {
    std::mt19937 random(5);
    const FileCalls calls;
    for (int round = 0; round < 40; ++round) {
      QTemporaryDir folder(scratch());
      CheckpointFolder checkpoints(folder.path().toStdString(), calls);
      Shape wanted(2 + random() % 3);
      for (int64_t& size : wanted) size = 1 + random() % 5;
      const size_t at = random() % (wanted.size() - 1);
      const Shape joined = with_joined(wanted, at);
      const TensorType type{wanted, DType::f32};
      const std::vector<StoredState> held{
          {"params/w", {joined, DType::f32}, Sharding::replicated(static_cast<int>(joined.size())), true}};
      const std::vector<StoredState> run{
          {"params/w", type, Sharding::replicated(static_cast<int>(wanted.size())), true}};
      const auto values = made_values(held, 1);
      CheckpointReader checkpoint(
          make_checkpoint(checkpoints, folder.path().toStdString(), calls, held, Mesh({{"data", 1}}), 1, values));
      QVERIFY(differences(checkpoint.index(), "c", "made", run, true).empty());
      const Box box = random_box(wanted, random);
      Bytes part(static_cast<size_t>(TensorType{box.size, DType::f32}.bytes()));
      checkpoint.read(read_requests(checkpoint.index().states[0], wanted, box, part));
      QCOMPARE(part, part_of(values.at("params/w"), type, box));
    }
  }

  // As a model of joined layers is written and read.
  void a_box_is_the_same_elements_joined_and_divided() {
    std::mt19937 random(6);
    for (int round = 0; round < 500; ++round) {
      Shape wanted(2 + random() % 3);
      for (int64_t& size : wanted) size = 1 + random() % 5;
      const size_t at = random() % (wanted.size() - 1);
      const Shape joined = with_joined(wanted, at);
      const auto compare = [&](const Shape& shape, const Box& box, const Shape& other, const std::vector<Box>& boxes) {
        std::vector<int64_t> expected, found;
        append_places(shape, box, expected);
        for (const Box& part : boxes) append_places(other, part, found);
        QCOMPARE(found, expected);
      };
      const Box box = random_box(wanted, random), whole = random_box(joined, random);
      compare(wanted, box, joined, joined_boxes(wanted, box, at));
      compare(joined, whole, wanted, divided_boxes(wanted, whole, at));
    }
    QCOMPARE(divided_boxes({16, 3, 8}, {{4, 0}, {2, 24}}, 1).size(), size_t{1});
    QCOMPARE(joined_boxes({16, 3, 8}, {{4, 0, 0}, {2, 3, 8}}, 1).size(), size_t{1});
  }

  // Of mixtral's files each has its gate and up.
  void experts_are_exported_alike_from_joined_and_separate_halves() {
    const FileCalls calls;
    const std::string name = "params/model/layers/0/mlp/experts/gate_up_proj";
    std::vector<std::map<std::string, Bytes>> exported;
    for (const Shape& shape : {Shape{3, 2, 5, 4}, Shape{3, 10, 4}}) {
      QTemporaryDir folder(scratch());
      CheckpointFolder checkpoints(folder.path().toStdString(), calls);
      const std::vector<StoredState> states{
          {name, {shape, DType::f32}, Sharding::replicated(static_cast<int>(shape.size())), true}};
      CheckpointReader checkpoint(make_checkpoint(checkpoints, folder.path().toStdString(), calls, states,
                                                  Mesh({{"data", 1}}), 1, made_values(states, 1)));
      std::map<std::string, Bytes>& arrays = exported.emplace_back();
      for (const ExportedArray& array : exported_arrays(checkpoint.index(), {.experts = ExpertArrays::mixtral})) {
        QCOMPARE(array.type.shape, (Shape{5, 4}));
        read(checkpoint, array, {}, {{0, 0}, array.type.shape}, arrays[array.name]);
      }
    }
    QCOMPARE(exported[0].size(), size_t{6});
    QVERIFY(exported[0] == exported[1]);
  }
};

REGISTER_TEST(JoinedDimensionTest)

}  // namespace joined_dimension_test

#include "joined_dimension_test.moc"
