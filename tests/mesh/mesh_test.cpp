#include "engine/mesh/mesh.h"

#include <QTest>
#include <set>

#include "tests/base/errors_of.h"
#include "tests/mesh/random_case.h"
#include "tests/test_program.h"

namespace mesh_test {

using namespace shardscope;

namespace {}  // namespace

class MeshTest : public QObject {
  Q_OBJECT
 private slots:
  void coordinates_are_the_row_major_position_of_the_device() {
    RandomCases cases(1);
    for (int i = 0; i < 200; ++i) {
      const Mesh mesh = cases.mesh();
      for (int position = 0; position < mesh.device_count(); ++position) {
        const int device = mesh.devices()[position];
        const std::vector<int64_t> coordinates = mesh.coordinates(device);
        int64_t index = 0;
        for (int axis = 0; axis < mesh.axis_count(); ++axis) {
          QVERIFY(coordinates[axis] >= 0 && coordinates[axis] < mesh.axis_size(axis));
          QCOMPARE(mesh.coordinate(device, axis), coordinates[axis]);
          index = index * mesh.axis_size(axis) + coordinates[axis];
        }
        QCOMPARE(index, position);
      }
    }
  }

  void groups_over_any_axes_partition_the_devices_and_agree_on_their_order() {
    RandomCases cases(2);
    for (int i = 0; i < 300; ++i) {
      const Mesh mesh = cases.mesh();
      std::vector<AxisIndex> axes, others;
      for (int axis = 0; axis < mesh.axis_count(); ++axis) {
        std::vector<AxisIndex>& list = cases.below(2) ? axes : others;
        list.insert(list.begin() + cases.below(static_cast<int64_t>(list.size()) + 1), static_cast<AxisIndex>(axis));
      }
      int64_t group_size = 1;
      for (AxisIndex axis : axes) group_size *= mesh.axis_size(axis);
      for (int device = 0; device < mesh.device_count(); ++device) {
        const std::vector<int> group = mesh.group(device, axes);
        QCOMPARE(static_cast<int64_t>(group.size()), group_size);
        QCOMPARE(std::set<int>(group.begin(), group.end()).size(), group.size());
        QCOMPARE(group[mesh.group_index(device, axes)], device);
        for (int member : group) {
          QVERIFY(mesh.group(member, axes) == group);
          for (AxisIndex other : others) QCOMPARE(mesh.coordinate(member, other), mesh.coordinate(device, other));
        }
      }
    }
  }

  void the_first_axis_of_a_group_is_its_major_one() {
    const Mesh mesh({{"data", 2}, {"model", 3}});
    QVERIFY(mesh.group(0, {0, 1}) == (std::vector<int>{0, 1, 2, 3, 4, 5}));
    QVERIFY(mesh.group(4, {1, 0}) == (std::vector<int>{0, 3, 1, 4, 2, 5}));
    QVERIFY(mesh.group(4, {0}) == (std::vector<int>{1, 4}));
    QVERIFY(mesh.group(4, {}) == (std::vector<int>{4}));
  }

  void an_axis_is_found_by_its_name_only() {
    const Mesh mesh({{"data", 4}, {"model", 2}});
    QCOMPARE(*mesh.find_axis("model"), AxisIndex{1});
    QVERIFY(!mesh.find_axis("Model"));
    QVERIFY(!mesh.find_axis(""));
  }

  void a_mesh_without_axes_has_one_device() {
    const Mesh mesh;
    QCOMPARE(mesh.device_count(), 1);
    QVERIFY(mesh.coordinates(0).empty());
    QVERIFY(mesh.group(0, {}) == std::vector<int>{0});
  }

  void a_mesh_of_axes_without_end_is_one_error() {
    const std::vector<MeshAxis> axes(50000, {"", 0});
    QCOMPARE(errors_of([&] { Mesh{axes}; }).size(), size_t{1});
  }

  void every_fault_of_the_axes_is_reported_at_its_place() {
    const std::vector<Error> errors = errors_of([] {
      Mesh({{"data", 0}, {"data", 2}, {"", 2}, {"x", -3}, {std::string(101, 'y'), 0}, {"a\nb", 2}});
    });
    std::vector<std::string> found;
    for (const Error& error : errors) found.push_back(error.code + " " + to_string(error.place));
    QVERIFY(found == (std::vector<std::string>{"axis_size mesh.axes[0].size", "duplicate_axis mesh.axes[1].name",
                                               "axis_name mesh.axes[2].name", "axis_size mesh.axes[3].size",
                                               "axis_name mesh.axes[4].name", "axis_name mesh.axes[5].name"}));
  }

  void too_many_axes_or_devices_are_refused_without_being_built() {
    const int64_t huge = int64_t{1} << 40;
    QCOMPARE(errors_of([] { Mesh(std::vector<MeshAxis>(8, {"a", 1})); }).front().code, std::string("axis_count"));
    QCOMPARE(errors_of([&] { Mesh({{"a", huge}, {"b", huge}}); }).front().code, std::string("device_count"));
    QCOMPARE(Mesh({{"a", Mesh::max_devices}}).device_count(), static_cast<int>(Mesh::max_devices));
  }

  void a_device_order_must_be_a_permutation() {
    for (const std::vector<int>& order : {std::vector<int>{0, 1, 2}, {0, 1, 2, 4}, {0, 1, 1, 2}, {-1, 0, 1, 2}}) {
      const std::vector<Error> errors = errors_of([&] { Mesh({{"data", 2}, {"model", 2}}, order); });
      QCOMPARE(errors.size(), size_t{1});
      QCOMPARE(errors[0].code, std::string("device_order"));
      QCOMPARE(to_string(errors[0].place), std::string("mesh.devices"));
    }
    QVERIFY(errors_of([] { Mesh({{"data", 2}, {"model", 2}}, {3, 1, 0, 2}); }).empty());
  }

  void meshes_are_equal_exactly_when_axes_and_devices_are() {
    const Mesh mesh({{"data", 2}, {"model", 2}});
    QVERIFY(mesh == Mesh({{"data", 2}, {"model", 2}}, {0, 1, 2, 3}));
    QVERIFY(mesh != Mesh({{"data", 2}, {"model", 2}}, {0, 2, 1, 3}));
    QVERIFY(mesh != Mesh({{"data", 2}, {"x", 2}}));
    QVERIFY(mesh != Mesh({{"data", 4}, {"model", 1}}));
  }
};

REGISTER_TEST(MeshTest)

}  // namespace mesh_test

#include "mesh_test.moc"
