#include <QImage>
#include <QPainter>
#include <QTabWidget>
#include <QTest>
#include <algorithm>
#include <cstdlib>

#include "gui/look/kept_picture.h"
#include "gui/window/page_list.h"
#include "tests/gui/small_models.h"
#include "tests/gui/window_case.h"
#include "tests/test_program.h"

namespace pixel_ratio_test {

using namespace shardscope;

// Pages on a screen with two pixels a point: as large as with one, and finer.
class PixelRatioTest : public WindowCase {
  Q_OBJECT

  static QImage drawn(QWidget& page, int ratio) {
    QImage image(page.size() * ratio, QImage::Format_RGB32);
    image.setDevicePixelRatio(ratio);
    image.fill(Qt::white);
    page.render(&image);
    image.setDevicePixelRatio(1);
    return image;
  }

  static double mean_difference(const QImage& one, const QImage& other) {
    double sum = 0;
    for (int y = 0; y < one.height(); ++y)
      for (int x = 0; x < one.width(); ++x) sum += std::abs(qGray(one.pixel(x, y)) - qGray(other.pixel(x, y)));
    return sum / double(one.width()) / one.height();
  }

 private slots:
  void initTestCase() { prepare(); }

  void cleanup() {
    if (window_) close_window();
  }

  void every_page_is_the_same_picture_and_finer_data() {
    QTest::addColumn<QString>("page");
    for (const PageKind& kind : page_kinds()) {
      const QString page = name_of(kind).toLower();
      QTest::newRow(qPrintable(page)) << page;
    }
  }
  void every_page_is_the_same_picture_and_finer() {
    QFETCH(QString, page);
    open_window(compiled_plans(), made::piped_gpt(2, 2, 1, 2), {1280, 800});
    QVERIFY(window_->show_page(page));
    QTRY_VERIFY_WITH_TIMEOUT(window_->is_settled(), patience);
    QWidget& shown = *window_->findChild<QTabWidget*>("pages")->currentWidget();
    const QImage coarse = drawn(shown, 1), fine = drawn(shown, 2);
    const QImage halved = fine.scaled(coarse.size(), Qt::IgnoreAspectRatio, Qt::SmoothTransformation);
    const double apart = mean_difference(coarse, halved);
    QVERIFY2(apart < 3, qPrintable(QString::number(apart)));
    QVERIFY(coarse.scaled(fine.size()) != fine);
    QCOMPARE(drawn(shown, 1), coarse);  // what was kept of the finer one is not shown
  }

  void what_is_kept_is_what_was_painted_at_any_ratio() {
    const auto paint = [](QPainter& painter) {
      painter.setRenderHint(QPainter::Antialiasing);
      painter.fillRect(QRectF(3.5, 2.5, 20, 10), Qt::red);
      painter.setPen(QPen(Qt::blue, 0.5));
      painter.drawLine(QPointF(0, 0), QPointF(60, 30));
    };
    KeptPicture kept;
    for (const int ratio : {1, 2, 3, 1}) {
      const auto draw = [&](const std::function<void(QPainter&)>& how) {
        QImage image(QSize(80, 40) * ratio, QImage::Format_ARGB32_Premultiplied);
        image.setDevicePixelRatio(ratio);
        image.fill(Qt::transparent);
        QPainter painter(&image);
        how(painter);
        painter.end();
        return image;
      };
      const QImage direct = draw([&](QPainter& painter) {
        painter.translate(10, 5);
        painter.setClipRect(QRectF(0, 0, 60, 30));
        paint(painter);
      });
      const QImage shown = draw([&](QPainter& painter) { kept.show(painter, {10, 5, 60, 30}, paint); });
      int most = 0;  // painted onto nothing and then shown, edges may be rounded otherwise
      for (int y = 0; y < direct.height(); ++y)
        for (int x = 0; x < direct.width(); ++x) {
          const QColor a = direct.pixelColor(x, y), b = shown.pixelColor(x, y);
          most = std::max(
              {most, std::abs(a.alpha() - b.alpha()), std::abs(a.red() - b.red()), std::abs(a.blue() - b.blue())});
        }
      QVERIFY2(most <= 2, qPrintable(QString("%1 at %2 pixels a point").arg(most).arg(ratio)));
    }
  }
};

REGISTER_WINDOW_TEST(PixelRatioTest)

}  // namespace pixel_ratio_test

#include "pixel_ratio_test.moc"
