#include <QTest>
#include <algorithm>
#include <random>
#include <set>

#include "engine/machine/machine_library.h"
#include "tests/test_program.h"
#include "viz/paint/machine_geometry.h"

namespace machine_geometry_test {

using namespace shardscope;

class MachineGeometryTest : public QObject {
  Q_OBJECT

  static bool is_inside(const PictureRect& inner, const PictureRect& outer) {
    constexpr double rounding = 1e-6;
    return inner.x >= outer.x - rounding && inner.y >= outer.y - rounding &&
           inner.right() <= outer.right() + rounding && inner.bottom() <= outer.bottom() + rounding;
  }

  static bool overlap(const PictureRect& a, const PictureRect& b) {
    return a.x < b.right() && b.x < a.right() && a.y < b.bottom() && b.y < a.bottom();
  }

  static std::vector<Level> random_levels(std::mt19937& random) {
    std::vector<Level> levels(1 + random() % 3);
    for (size_t i = 0; i < levels.size(); ++i) {
      levels[i].name = std::string(1, char('a' + i));
      levels[i].bytes_per_second = 1e9;
      if (i + 1 < levels.size()) levels[i].count = {int(1 + random() % 24)};
    }
    return levels;
  }

 private slots:
  void devices_lie_in_their_units_and_none_twice() {
    std::mt19937 random(7);
    for (int round = 0; round < 300; ++round) {
      const std::vector<Level> levels = random_levels(random);
      const int count = 1 + int(random() % 400);
      const Topology topology(levels, count);
      const PictureRect place = {10, 20, 900, 600};
      const int focus = int(random() % unsigned(count));
      const MachinePicture picture = machine_picture(topology, place, 16, focus);
      QCOMPARE(picture.boxes.front().level, topology.level_count() - 1);
      std::set<int> seen;
      for (const MachinePicture::Cell& cell : picture.devices) {
        QVERIFY(seen.insert(cell.device).second);
        QVERIFY(cell.place.width >= 0 && cell.place.height >= 0);
        int boxes = 0;
        for (const MachinePicture::Box& box : picture.boxes) {
          QVERIFY(is_inside(box.place, place));
          if (topology.unit(box.level, cell.device) != box.unit) continue;
          QVERIFY(is_inside(cell.place, box.place));
          ++boxes;
        }
        QCOMPARE(boxes, topology.level_count());
      }
      QVERIFY2(seen.contains(focus), "the device that one looks at is left out");
      for (size_t i = 0; i < picture.devices.size(); ++i)
        for (size_t j = 0; j < i; ++j) QVERIFY(!overlap(picture.devices[i].place, picture.devices[j].place));
    }
  }

  void what_is_left_out_is_counted() {
    std::mt19937 random(8);
    for (int round = 0; round < 200; ++round) {
      const std::vector<Level> levels = random_levels(random);
      const int count = 1 + int(random() % 3000);
      const Topology topology(levels, count);
      const MachinePicture picture = machine_picture(topology, {0, 0, 800, 600}, 16);
      for (const MachinePicture::Box& box : picture.boxes) {
        std::set<int> parts;
        for (int device = 0; device < count; ++device)
          if (topology.unit(box.level, device) == box.unit) parts.insert(topology.unit(box.level - 1, device));
        QCOMPARE(box.parts, int(parts.size()));
        QCOMPARE(box.rest.has_value(), box.drawn < box.parts);
        QVERIFY(box.drawn <= (box.level == 0 ? most_devices_of_unit : most_units_of_unit));
        QVERIFY(box.drawn >= 1);
      }
    }
  }

  void a_slice_of_a_torus_has_all_its_devices_where_there_is_room_for_their_numbers() {
    const Topology topology(library_machine("tpu_v5p")->levels, 64);
    QCOMPARE(machine_picture(topology, {0, 0, 630, 360}, 16).devices.size(), size_t{64});
    const MachinePicture small = machine_picture(topology, {0, 0, 160, 120}, 16);
    QCOMPARE(small.devices.size(), size_t(least_devices_of_unit - 1));
    QCOMPARE(small.boxes.back().parts, 64);
  }

  void every_machine_of_the_library_has_a_picture() {
    for (std::string_view name : library_names())
      for (int devices : {1, 8, 64, 256}) {
        const MachinePicture picture =
            machine_picture(Topology(library_machine(name)->levels, devices), {0, 0, 700, 400}, 16);
        QVERIFY2(!picture.devices.empty(), std::string(name).c_str());
        for (const MachinePicture::Cell& cell : picture.devices)
          QVERIFY2(cell.place.width >= 4 && cell.place.height >= 4, std::string(name).c_str());
      }
  }
};

REGISTER_TEST(MachineGeometryTest)

}  // namespace machine_geometry_test

#include "machine_geometry_test.moc"
