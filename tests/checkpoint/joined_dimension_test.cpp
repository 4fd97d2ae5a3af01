#include "engine/checkpoint/joined_dimension.h"

#include <QTemporaryDir>
#include <QtTest>

#include "engine/checkpoint/exported_array.h"
#include "tests/checkpoint/made_checkpoint.h"
#include "tests/test_program.h"

namespace joined_dimension_test {

using namespace shardscope;
using namespace shardscope::test;

class JoinedDimensionTest : public QObject {
  Q_OBJECT

 private slots:
  void one_dimension_may_stand_for_two_and_nothing_else() {
    QCOMPARE(joined_dimension({8, 56, 16}, {8, 2, 28, 16}), std::optional<size_t>(1));
    QCOMPARE(joined_dimension({56}, {2, 28}), std::optional<size_t>(0));
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
      Shape joined = wanted;
      joined[at] *= joined[at + 1];
      joined.erase(joined.begin() + static_cast<std::ptrdiff_t>(at) + 1);
      const TensorType type{wanted, DType::f32};
      const std::vector<StoredState> held{
          {"params/w", {joined, DType::f32}, Sharding::replicated(static_cast<int>(joined.size())), true}};
      const std::vector<StoredState> run{
          {"params/w", type, Sharding::replicated(static_cast<int>(wanted.size())), true}};
      const auto values = made_values(held, 1);
      CheckpointReader checkpoint(
          make_checkpoint(checkpoints, folder.path().toStdString(), calls, held, Mesh({{"data", 1}}), 1, values));
      if (!joined_dimension(joined, wanted)) continue;  // a size of 1 that another place explains as well
      QVERIFY(differences(checkpoint.index(), "c", "made", run, true).empty());
      Box box;
      for (const int64_t size : wanted) {
        box.start.push_back(random() % size);
        box.size.push_back(1 + random() % (size - box.start.back()));
      }
      Bytes part(static_cast<size_t>(TensorType{box.size, DType::f32}.bytes()));
      checkpoint.read(read_requests(checkpoint.index().states[0], wanted, box, part));
      QCOMPARE(part, part_of(values.at("params/w"), type, box));
    }
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
      for (const ExportedArray& array : exported_arrays(checkpoint.index(), ExpertArrays::mixtral)) {
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
