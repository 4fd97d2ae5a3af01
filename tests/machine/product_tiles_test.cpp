#include "engine/machine/product_tiles.h"

#include <QTest>
#include <cmath>
#include <random>

#include "tests/test_program.h"

namespace product_tiles_test {

using namespace shardscope;

class ProductTilesTest : public QObject {
  Q_OBJECT

 private slots:
  void without_kernels_the_peak_is_reached() { QCOMPARE(tiled_share({}, 132, 100, 7, 3, 1), 1.0); }

  void the_share_is_that_of_the_example() {
    const std::vector<ProductTile> tiles = {{128, 128, 64, 0.8, ""}};
    QCOMPARE(tiled_share(tiles, 128, 1024, 1024, 1024, 1), 0.8 * 0.5 * 1024 / (512 + 64) * 1);
    QCOMPARE(tiled_share(tiles, 128, 4096, 1024, 1024, 1), 0.8 * 2 * 1024 / (2 * (1024 + 64)));
  }

  void no_product_is_faster_than_its_kernels_and_a_larger_one_never_takes_less_time() {
    std::mt19937 random(1);
    const auto size = [&](int most) { return static_cast<double>(1 + random() % static_cast<unsigned>(most)); };
    for (int i = 0; i < 2000; ++i) {
      std::vector<ProductTile> tiles;
      double best = 0;
      for (int t = 0; t < 3; ++t) {
        tiles.push_back({int64_t{32} << random() % 4, int64_t{32} << random() % 4, size(300), size(100) / 100, ""});
        best = std::max(best, tiles.back().efficiency);
      }
      const int units = 1 + static_cast<int>(random() % 200);
      const double m = size(9000), n = size(9000), k = size(9000), batch = size(5);
      const double share = tiled_share(tiles, units, m, n, k, batch);
      QVERIFY(share > 0 && share <= best);
      const double larger = m + size(500);
      QVERIFY(larger / tiled_share(tiles, units, larger, n, k, batch) >= m / share * (1 - 1e-12));
      QVERIFY((batch + 1) / tiled_share(tiles, units, m, n, k, batch + 1) >= batch / share * (1 - 1e-12));
    }
  }
};

REGISTER_TEST(ProductTilesTest)

}  // namespace product_tiles_test

#include "product_tiles_test.moc"
