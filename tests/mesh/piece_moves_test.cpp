#include "engine/mesh/piece_moves.h"

#include <QTest>
#include <cmath>
#include <optional>

#include "engine/mesh/box_runs.h"
#include "tests/mesh/random_pair.h"
#include "tests/test_program.h"

namespace piece_moves_test {

using namespace shardscope;

namespace {

constexpr int case_count = 600;

// An array on every device, each with room for all of it: what a device does not hold is not a number. Knows of pieces
// alone, not of collectives.
class Devices {
 public:
  using Array = std::vector<double>;

  Devices(const Mesh& mesh, const Shape& shape) : mesh_(mesh), shape_(shape), held_(mesh.device_count(), nothing()) {}

  // Whole numbers, of which those of a partial value make those of the array, whatever device is asked for its part.
  void fill(const Sharding& sharding, std::mt19937& random) {
    const Array summands = random_array(random, mesh_.device_count());
    for (int device = 0; device < mesh_.device_count(); ++device) {
      const int64_t own = mesh_.group_index(device, partial_axes(sharding));
      for_each(shard_box(sharding, mesh_, shape_, device), 0, 1,
               [&](int64_t at) { held_[device][at] = std::fmod(double(at * 31 + own * 977) + summands[own], 1009); });
    }
  }

  // False where a piece comes from a device that does not hold it.
  bool play(const PieceMoves& moves, Reduction reduction, int round) {
    std::vector<Array> next(held_.size(), nothing());
    for (int device = 0; device < mesh_.device_count(); ++device) {
      if (round > 0) next[device] = held_[device];
      for (const MovedPiece& piece : moves.into(device, round)) {
        if (piece.to != device) return false;
        bool is_there = true;
        for_each(piece.box, piece.part, piece.parts, [&](int64_t at) {
          const double given = held_[piece.from][at];
          double& place = next[device][at];
          is_there &= !std::isnan(given);
          if (!piece.reduced || std::isnan(place)) place = given;
          else place = reduction == Reduction::max ? std::max(place, given) : place + given;
        });
        if (!is_there) return false;
      }
    }
    held_ = std::move(next);
    return true;
  }

  // What the devices' parts of a partial value make, by device.
  std::vector<Array> whole(const Sharding& sharding) const {
    std::vector<Array> result;
    for (int device = 0; device < mesh_.device_count(); ++device) {
      Array total;
      for (const int other : mesh_.group(device, partial_axes(sharding))) {
        if (total.empty()) {
          total = held_[other];
          continue;
        }
        for (size_t i = 0; i < total.size(); ++i)
          total[i] =
              sharding.reduction == Reduction::max ? std::max(total[i], held_[other][i]) : total[i] + held_[other][i];
      }
      result.push_back(std::move(total));
    }
    return result;
  }

  // True where each device holds the elements of its box and no others.
  bool is_sharded_as(const Sharding& sharding) const {
    for (int device = 0; device < mesh_.device_count(); ++device) {
      std::vector<bool> wanted(held_[device].size(), false);
      for_each(shard_box(sharding, mesh_, shape_, device), 0, 1, [&](int64_t at) { wanted[at] = true; });
      for (size_t i = 0; i < wanted.size(); ++i)
        if (wanted[i] == std::isnan(held_[device][i])) return false;
    }
    return true;
  }

 private:
  static Array random_array(std::mt19937& random, int count) {
    Array numbers;
    for (int i = 0; i < count; ++i) numbers.push_back(double(random() % 1000));
    return numbers;
  }
  Array nothing() const { return Array(static_cast<size_t>(element_count(shape_)), std::nan("")); }

  std::vector<AxisIndex> partial_axes(const Sharding& sharding) const {
    std::vector<AxisIndex> axes;
    for (AxisIndex axis = 0; axis < mesh_.axis_count(); ++axis)
      if (sharding.partial >> axis & 1) axes.push_back(axis);
    return axes;
  }

  template <class Visit>
  void for_each(const Box& box, int part, int parts, Visit visit) const {
    const int64_t count = element_count(box.size);
    const BoxRuns runs(shape_, box);
    for (int64_t i = count * part / parts; i < count * (part + 1) / parts; ++i) visit(runs.offset_of(i));
  }

  const Mesh& mesh_;
  const Shape& shape_;
  std::vector<Array> held_;
};

ArrayMove move_of(const Pair& pair, const Sharding& before, const ReshardStep& step) {
  return {step.kind, step.axes, pair.shape, before, step.result};
}

// The array of which every device holds a part or nothing.
Devices::Array joined(const std::vector<Devices::Array>& parts) {
  Devices::Array whole = parts.front();
  for (const Devices::Array& part : parts)
    for (size_t i = 0; i < whole.size(); ++i)
      if (std::isnan(whole[i])) whole[i] = part[i];
  return whole;
}

}  // namespace

class PieceMovesTest : public QObject {
  Q_OBJECT

 private slots:
  void after_a_step_each_device_holds_its_box_and_every_piece_came_from_one_that_held_it() {
    Pairs pairs(21);
    for (int i = 0; i < case_count; ++i) {
      const Pair pair = pairs.next(i % 2 == 1);
      Devices devices(pair.mesh, pair.shape);
      devices.fill(pair.from, pairs.random());
      const Devices::Array whole = joined(devices.whole(pair.from));
      Sharding now = pair.from;
      for (const ReshardStep& step : reshard_path(pair.from, pair.to, pair.mesh)) {
        const PieceMoves moves(move_of(pair, now, step), pair.mesh);
        for (int round = 0; round < moves.rounds(); ++round)
          QVERIFY2(devices.play(moves, step.reduction, round), pair.text().c_str());
        now = step.result;
        QVERIFY2(devices.is_sharded_as(now), pair.text().c_str());
      }
      for (const Devices::Array& part : devices.whole(now))
        for (size_t at = 0; at < whole.size(); ++at)
          QVERIFY2(std::isnan(part[at]) || part[at] == whole[at], pair.text().c_str());
    }
  }

  void no_element_comes_twice_but_to_be_reduced() {
    Pairs pairs(22);
    for (int i = 0; i < case_count; ++i) {
      const Pair pair = pairs.next(i % 2 == 1);
      Sharding now = pair.from;
      for (const ReshardStep& step : reshard_path(pair.from, pair.to, pair.mesh)) {
        const PieceMoves moves(move_of(pair, now, step), pair.mesh);
        for (int device = 0; device < pair.mesh.device_count(); ++device) {
          int64_t elements = 0;
          for (const MovedPiece& piece : moves.into(device, 0))
            if (!piece.reduced || piece.from == device) elements += piece.elements();
          const int64_t parts =
              step.kind == InstructionKind::all_reduce ? static_cast<int64_t>(moves.group(device).size()) : 1;
          const int64_t box = element_count(moves.after(device).size);
          QVERIFY2(elements >= box / parts && elements <= box / parts + (parts > 1), pair.text().c_str());
        }
        now = step.result;
      }
    }
  }

  void what_is_given_is_what_is_got() {
    Pairs pairs(23);
    for (int i = 0; i < case_count / 4; ++i) {
      const Pair pair = pairs.next(i % 2 == 1);
      Sharding now = pair.from;
      for (const ReshardStep& step : reshard_path(pair.from, pair.to, pair.mesh)) {
        const PieceMoves moves(move_of(pair, now, step), pair.mesh);
        now = step.result;
        for (int round = 0; round < moves.rounds(); ++round) {
          std::vector<MovedPiece> given, got;
          for (int device = 0; device < pair.mesh.device_count(); ++device) {
            std::ranges::copy(moves.out_of(device, round), std::back_inserter(given));
            std::ranges::copy(moves.into(device, round), std::back_inserter(got));
          }
          QCOMPARE(given.size(), got.size());
          for (const MovedPiece& piece : given) QVERIFY(std::ranges::count(got, piece) == 1);
        }
      }
    }
  }

  void the_devices_send_as_many_bytes_as_a_step_is_said_to_send() {
    Pairs pairs(24);
    for (int i = 0; i < case_count; ++i) {
      const Pair pair = pairs.next(i % 2 == 1);
      Sharding now = pair.from;
      for (const ReshardStep& step : reshard_path(pair.from, pair.to, pair.mesh)) {
        const PieceMoves moves(move_of(pair, now, step), pair.mesh);
        double sent = 0;
        for (int device = 0; device < pair.mesh.device_count(); ++device)
          for (int round = 0; round < moves.rounds(); ++round)
            for (const MovedPiece& piece : moves.out_of(device, round))
              if (piece.to != device) sent += 4 * double(piece.elements());
        const double said =
            wire_bytes(step, now, pair.mesh, {pair.shape, DType::f32}) * double(pair.mesh.device_count());
        // Of a permute some devices may keep what they hold.
        if (step.kind == InstructionKind::collective_permute) QVERIFY2(sent <= said, pair.text().c_str());
        else QVERIFY2(std::abs(sent - said) <= 1e-6 * said, pair.text().c_str());
        now = step.result;
      }
    }
  }

  void a_stage_sends_what_it_holds_to_the_devices_at_its_places_in_another() {
    const Mesh mesh({{"stage", 3}, {"data", 2}}, {5, 4, 3, 2, 1, 0});
    Sharding rows = Sharding::replicated(2);
    rows.dims[0].push_back(1);
    const PieceMoves moves({InstructionKind::send, {1, {0}}, {4, 6}, rows, rows, 0, 2}, mesh);
    for (int device = 0; device < mesh.device_count(); ++device) {
      const int64_t stage = mesh.coordinate(device, 0);
      QCOMPARE(moves.holds_before(device), stage == 0);
      QCOMPARE(moves.holds_after(device), stage == 2);
      QCOMPARE(moves.out_of(device, 0).size(), size_t(stage == 0));
      QCOMPARE(moves.into(device, 0).size(), size_t(stage == 2));
      for (const MovedPiece& piece : moves.into(device, 0)) {
        QCOMPARE(mesh.coordinate(piece.from, 0), 0);
        QCOMPARE(mesh.coordinate(piece.from, 1), mesh.coordinate(device, 1));
        QVERIFY(piece.box == shard_box(rows, mesh, {4, 6}, device));
      }
    }
  }
};

REGISTER_TEST(PieceMovesTest)

}  // namespace piece_moves_test

#include "piece_moves_test.moc"
