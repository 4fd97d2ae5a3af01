#include <QTest>
#include <random>

#include "engine/mesh/box_runs.h"
#include "tests/test_program.h"
#include "viz/paint/layout_geometry.h"

namespace layout_pages_test {

using namespace shardscope;

// Arrays of three and more dimensions as pages.
class LayoutPagesTest : public QObject {
  Q_OBJECT

  struct Case {
    Mesh mesh;
    Shape shape;
    Sharding sharding;
  };

  static Case random_case(std::mt19937& random) {
    const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    const Mesh mesh({{"a", 1 + pick(4)}, {"b", 1 + pick(3)}, {"c", 1 + pick(3)}});
    const int rank = 3 + pick(3);
    Sharding sharding = Sharding::replicated(rank);
    Shape shape(static_cast<size_t>(rank), 1);
    for (AxisIndex axis = 0; axis < 3; ++axis)
      if (pick(4)) sharding.dims[static_cast<size_t>(pick(rank))].push_back(axis);
    for (int d = 0; d < rank; ++d) shape[static_cast<size_t>(d)] = shard_count(sharding, mesh, d) * (1 + pick(5));
    return {mesh, shape, sharding};
  }

  static bool overlap(const PictureRect& a, const PictureRect& b) {
    const double slack = 1e-9;
    return a.x + slack < b.right() && b.x + slack < a.right() && a.y + slack < b.bottom() && b.y + slack < a.bottom();
  }

 private slots:
  void there_is_a_page_for_each_shard_along_the_leading_dimensions_and_none_overlap() {
    std::mt19937 random(1);
    for (int round = 0; round < 200; ++round) {
      const Case test = random_case(random);
      const LayoutPicture picture = lay_out(test.shape, test.sharding, test.mesh);
      int64_t expected = 1;
      for (int d = 0; d < page_dims(test.shape); ++d) expected *= shard_count(test.sharding, test.mesh, d);
      QCOMPARE(int64_t(picture.pages.size()), expected);
      for (size_t i = 0; i < picture.pages.size(); ++i) {
        const PictureRect& page = picture.pages[i].place;
        QVERIFY(page.x >= 0 && page.y >= 0 && page.right() <= 1 + 1e-9 && page.bottom() <= 1 + 1e-9);
        QVERIFY(!picture.pages[i].label.empty());
        for (size_t j = 0; j < i; ++j) QVERIFY(!overlap(page, picture.pages[j].place));
      }
    }
  }

  void a_pinned_page_has_the_shards_that_it_cuts_and_no_others() {
    std::mt19937 random(2);
    for (int round = 0; round < 300; ++round) {
      const Case test = random_case(random);
      std::vector<int64_t> pins;
      for (int d = 0; d < page_dims(test.shape); ++d)
        pins.push_back(random() % 3 ? int64_t(random() % static_cast<unsigned>(test.shape[d])) : -1);
      const LayoutPicture picture = lay_out(test.shape, test.sharding, test.mesh, pins);
      for (int device = 0; device < test.mesh.device_count(); ++device) {
        const Box box = shard_box(test.sharding, test.mesh, test.shape, device);
        bool cut = true;
        for (size_t d = 0; d < pins.size(); ++d)
          cut &= pins[d] < 0 || (pins[d] >= box.start[d] && pins[d] < box.start[d] + box.size[d]);
        QCOMPARE(cell_of_device(picture, device).has_value(), cut);
        if (cut) QVERIFY(picture.cells[*cell_of_device(picture, device)].box == box);
      }
      for (const ShardCell& cell : picture.cells) QVERIFY(!cell.devices.empty());
    }
  }

  void the_pages_of_a_third_dimension_fill_a_place_that_is_about_as_wide_as_high() {
    const Mesh mesh({{"data", 16}});
    Sharding sharding = Sharding::replicated(3);
    sharding.dims[0].push_back(0);
    const LayoutPicture picture = lay_out({512, 8, 8}, sharding, mesh);
    QCOMPARE(picture.pages.size(), size_t(16));
    QVERIFY(picture.aspect > 0.8 && picture.aspect < 3);
    QCOMPARE(QString::fromStdString(picture.pages[1].label), QString("[32:64]"));
  }
};

REGISTER_TEST(LayoutPagesTest)

}  // namespace layout_pages_test

#include "layout_pages_test.moc"
