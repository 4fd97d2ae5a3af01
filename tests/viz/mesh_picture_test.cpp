#include <QImage>
#include <QPainter>
#include <QSet>
#include <QTest>
#include <cmath>
#include <set>

#include "tests/test_program.h"
#include "viz/paint/host_areas.h"
#include "viz/paint/mesh_painter.h"

namespace mesh_picture_test {

using namespace shardscope;

// Meshes of up to 16,384 devices as pictures.
class MeshPictureTest : public QObject {
  Q_OBJECT

  static std::vector<Mesh> meshes() {
    return {Mesh({{"data", 8}}),
            Mesh({{"data", 4096}}),
            Mesh({{"data", 16384}}),
            Mesh({{"data", 4096}, {"model", 2}}),
            Mesh({{"data", 2}, {"model", 4096}}),
            Mesh({{"data", 64}, {"model", 64}}),
            Mesh({{"data", 1021}}),
            Mesh({{"pipeline", 16}, {"data", 64}, {"model", 16}}),
            Mesh({{"a", 4}, {"b", 4}, {"c", 4}, {"d", 4}, {"e", 4}, {"f", 4}, {"g", 4}})};
  }

  static QString words(const Mesh& mesh) {
    QStringList parts;
    for (const MeshAxis& axis : mesh.axes()) parts << QString("%1=%2").arg(axis.name.c_str()).arg(axis.size);
    return parts.join(' ');
  }

 private slots:
  void a_large_mesh_is_no_strip() {
    for (const Mesh& mesh : meshes()) {
      const MeshPicture picture = lay_out(mesh);
      if (mesh.device_count() <= 16) continue;
      const double aspect = picture.width / picture.height;
      QVERIFY2(aspect > 1 / 4.0 && aspect < 4, qPrintable(words(mesh) + QString(" %1").arg(aspect)));
      QVERIFY2(picture.width * picture.height < 2.2 * mesh.device_count(), qPrintable(words(mesh)));
    }
  }

  void no_two_devices_share_a_place() {
    for (const Mesh& mesh : meshes()) {
      const MeshPicture picture = lay_out(mesh);
      std::set<std::pair<int64_t, int64_t>> seen;
      for (const MeshCell& cell : picture.cells) {
        QVERIFY(cell.place.right() <= picture.width + 1e-6 && cell.place.bottom() <= picture.height + 1e-6);
        QVERIFY2(seen.insert({std::llround(cell.place.x * 1000), std::llround(cell.place.y * 1000)}).second,
                 qPrintable(words(mesh)));
        QCOMPARE(picture.place_of(cell.device), cell.place);
      }
    }
  }

  void blocks_hold_every_device_once_agree_in_their_name_and_are_large_enough() {
    for (const Mesh& mesh : meshes())
      for (const double least : {1.5, 4.0, 20.0}) {
        const MeshPicture picture = lay_out(mesh);
        const std::vector<MeshBlock> blocks = blocks_of(picture, mesh, least);
        int next = 0;
        std::set<std::string> names;
        for (const MeshBlock& block : blocks) {
          QCOMPARE(block.first_cell, next);
          next += block.cells;
          QVERIFY2(names.insert(block.name).second, block.name.c_str());
          for (int i = block.first_cell; i < next; ++i) {
            const PictureRect& place = picture.cells[i].place;
            QVERIFY(block.place.contains(place.x + 0.5, place.y + 0.5));
          }
        }
        QCOMPARE(next, mesh.device_count());
        if (blocks.size() > 1) QVERIFY(std::min(blocks[0].place.width, blocks[0].place.height) >= least - 1e-9);
      }
  }

  void at_every_scale_devices_that_differ_in_any_axis_are_drawn_in_other_colours() {
    const Mesh mesh({{"a", 2}, {"b", 2}, {"c", 2}});
    const MeshPicture picture = lay_out(mesh);
    for (const double cell : {6.0, 12.0, 30.0, 80.0}) {
      QImage image(int(picture.width * cell) + 2, int(picture.height * cell) + 2, QImage::Format_RGB32);
      image.fill(Qt::white);
      QPainter painter(&image);
      const MeshPlace at{{1, 1}, cell};
      paint_mesh(painter, at, picture, mesh, {}, light_theme());
      painter.end();
      QSet<QString> seen;
      for (const MeshCell& one : picture.cells) {
        const QRectF tile = at.rect(one.place);
        QStringList colors;  // along the top of its tile, where no number is
        for (double x = 0.2; x < 1; x += 0.15)
          colors << image.pixelColor(int(tile.x() + x * cell), int(tile.y() + 0.22 * cell)).name();
        seen.insert(colors.join(' '));
      }
      QCOMPARE(seen.size(), mesh.device_count());
    }
  }

  void a_border_is_between_devices_of_different_hosts_and_nowhere_else() {
    const Mesh mesh({{"data", 4}, {"model", 2}});
    const MeshPicture picture = lay_out(mesh);
    const std::vector<int> host_of{0, 0, 0, 1, 1, 1, 1, 1};
    constexpr int cell = 30;
    QImage image(int(picture.width * cell) + 4, int(picture.height * cell) + 4, QImage::Format_RGB32);
    const auto draw = [&](const std::vector<int>& hosts) {
      image.fill(Qt::white);
      QPainter painter(&image);
      QFont font;
      font.setPixelSize(200);  // for which there is no room: lines alone
      painter.setFont(font);
      paint_mesh(painter, {{2, 2}, cell}, picture, mesh, hosts, light_theme());
      painter.end();
      return image.copy();
    };
    const QImage plain = draw({}), framed = draw(host_of);
    const auto is_lined = [&](int one, int other) {
      const QRectF a = MeshPlace{{2, 2}, cell}.rect(picture.place_of(one));
      const QRectF b = MeshPlace{{2, 2}, cell}.rect(picture.place_of(other));
      const QPointF from = a.center(), to = b.center();
      for (double share = 0.4; share <= 0.6; share += 0.01) {
        const QPointF aside = (to.x() != from.x() ? QPointF(0, 1) : QPointF(1, 0)) * 0.35 * cell;
        const QPoint at = (from + (to - from) * share + aside).toPoint();
        if (framed.pixel(at) != plain.pixel(at)) return true;
      }
      return false;
    };
    for (int device = 0; device < 8; ++device)
      for (const int next : {device % 2 == 0 ? device + 1 : -1, device + 2})
        if (next > 0 && next < 8)
          QVERIFY2(is_lined(device, next) == (host_of[size_t(device)] != host_of[size_t(next)]),
                   qPrintable(QString("%1 and %2").arg(device).arg(next)));
  }

  void a_host_s_name_is_among_its_own_devices() {
    for (const Mesh& mesh : {Mesh({{"data", 4}, {"model", 2}}), Mesh({{"data", 64}, {"model", 64}}),
                             Mesh({{"pipeline", 4}, {"data", 8}, {"model", 4}})}) {
      const MeshPicture picture = lay_out(mesh);
      std::vector<int> host_of;
      for (int device = 0; device < mesh.device_count(); ++device)
        host_of.push_back(device < mesh.device_count() * 3 / 8 ? 0 : 1);
      int devices = 0;
      for (const HostArea& area : host_areas(picture, host_of)) {
        devices += area.devices;
        QVERIFY(area.room.width >= 1 && area.room.height >= 1);
        for (const MeshCell& cell : picture.cells)
          if (area.room.contains(cell.place.x + 0.5, cell.place.y + 0.5))
            QCOMPARE(host_of[size_t(cell.device)], area.host);
      }
      QCOMPARE(devices, mesh.device_count());
    }
  }

  void hosts_are_framed_and_from_afar_blocks_stand_for_their_devices() {
    const Mesh mesh({{"data", 64}, {"model", 64}});
    const MeshPicture picture = lay_out(mesh);
    std::vector<int> host_of;
    for (int device = 0; device < mesh.device_count(); ++device) host_of.push_back(device / 1024);
    QCOMPARE(int(mesh_detail(40)), int(MeshDetail::devices));
    QCOMPARE(int(mesh_detail(8)), int(MeshDetail::hosts));
    QCOMPARE(int(mesh_detail(2)), int(MeshDetail::blocks));
    for (const double cell : {8.0, 2.0}) {
      QImage image(int(picture.width * cell) + 2, int(picture.height * cell) + 2, QImage::Format_RGB32);
      const auto draw = [&](const std::vector<int>& hosts) {
        image.fill(Qt::white);
        QPainter painter(&image);
        paint_mesh(painter, {{1, 1}, cell}, picture, mesh, hosts, light_theme());
        return image;
      };
      QVERIFY(draw({}) != draw(host_of));
      int covered = 0;
      const QImage drawn = draw({});
      for (int i = 0; i < 400; ++i)
        covered += drawn.pixelColor(3 + i * 17 % (drawn.width() - 6), 3 + i * 31 % (drawn.height() - 6)) != Qt::white;
      QVERIFY2(covered > 280, qPrintable(QString::number(covered)));
    }
  }
};

REGISTER_WINDOW_TEST(MeshPictureTest)

}  // namespace mesh_picture_test

#include "mesh_picture_test.moc"
