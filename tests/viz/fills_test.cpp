#include <QImage>
#include <QPainter>
#include <QSet>
#include <QTest>
#include <set>

#include "tests/test_program.h"
#include "viz/paint/tone_painter.h"

namespace fills_test {

using namespace shardscope;

// The one fill of a device and of a shard.
class FillsTest : public QObject {
  Q_OBJECT
 private slots:
  void a_fill_tells_the_first_axis_by_hue_and_the_second_by_lightness() {
    const Mesh mesh({{"data", 4}, {"model", 3}, {"pipeline", 2}});
    for (const Theme* theme : {&light_theme(), &dark_theme()}) {
      std::set<QRgb> fills;
      for (int device = 0; device < mesh.device_count(); ++device)
        fills.insert(fill_color(device_tones(mesh, device), *theme).rgb());
      QCOMPARE(static_cast<int>(fills.size()), mesh.device_count());
      const auto fill = [&](int data, int model) {
        return fill_color(device_tones(mesh, (data * 3 + model) * 2), *theme);
      };
      for (int data = 0; data < 4; ++data)
        for (int model = 0; model + 1 < 3; ++model) {
          const QColor one = fill(data, model), next = fill(data, model + 1);
          QVERIFY((next.lightnessF() < one.lightnessF()) != theme->dark);
          const int apart = std::abs(one.hslHue() - next.hslHue());
          QVERIFY2(std::min(apart, 360 - apart) < 25, qPrintable(QString::number(apart)));
        }
    }
  }

  void a_cell_has_one_fill_and_ticks_at_its_edges_alone() {
    const Mesh mesh({{"data", 2}, {"model", 2}, {"expert", 2}});
    QSet<QString> pictures;
    for (int device = 0; device < mesh.device_count(); ++device) {
      QImage image(60, 60, QImage::Format_RGB32);
      QPainter painter(&image);
      paint_tones(painter, image.rect(), device_tones(mesh, device), light_theme());
      painter.end();
      QSet<QRgb> inside, all;
      for (int y = 0; y < 60; ++y)
        for (int x = 0; x < 60; ++x) {
          all.insert(image.pixel(x, y));
          if (x >= 6 && x < 54 && y >= 6 && y < 54) inside.insert(image.pixel(x, y));
        }
      QCOMPARE(inside.size(), 1);
      QCOMPARE(all.size(), 2);  // and the tick
      pictures.insert(QString::number(image.pixel(30, 30)) + QString::number(image.pixel(5, 0)));
    }
    QCOMPARE(pictures.size(), mesh.device_count());
  }

  void a_shard_is_in_the_hue_of_its_devices() {
    const Mesh mesh({{"data", 4}, {"model", 2}});
    Sharding rows = Sharding::replicated(2);
    rows.dims[0].push_back(0);
    for (int device = 0; device < mesh.device_count(); ++device) {
      const QColor shard = fill_color(shard_tones(mesh, rows, device), light_theme());
      const QColor own = fill_color(device_tones(mesh, device), light_theme());
      const int apart = std::abs(shard.hslHue() - own.hslHue());
      QVERIFY2(std::min(apart, 360 - apart) < 25, qPrintable(QString::number(apart)));
    }
  }
};

REGISTER_TEST(FillsTest)

}  // namespace fills_test

#include "fills_test.moc"
