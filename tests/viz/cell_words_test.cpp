#include <QPainter>
#include <QPicture>
#include <QTest>

#include "tests/test_program.h"
#include "viz/paint/layout_painter.h"

namespace cell_words_test {

using namespace shardscope;

// What stands on the shards of an array.
class CellWordsTest : public QObject {
  Q_OBJECT

  // Whether a text was drawn: a recorded picture keeps it in UTF-16, the high byte first.
  static bool says(const QPicture& picture, const QString& text) {
    QByteArray bytes;
    for (const QChar c : text) bytes.append(char(c.unicode() >> 8)).append(char(c.unicode() & 0xff));
    return QByteArray(picture.data(), picture.size()).contains(bytes);
  }

 private slots:
  void a_cell_names_its_devices_and_counts_them_where_they_are_many() {
    for (const auto& [devices, text] : std::vector<std::pair<int64_t, QString>>{{1, "0"},
                                                                                {8, QString("0\u20137")},
                                                                                {64, QString("0\u201363")},
                                                                                {65, "65 devices"},
                                                                                {4096, "4096 devices"}}) {
      const Mesh mesh({{"data", devices}});
      const LayoutPicture picture = lay_out({8, 8}, Sharding::replicated(2), mesh);
      QPicture drawn;
      QPainter painter(&drawn);
      painter.setClipRect(0, 0, 400, 400);
      paint_cell(painter, {0, 0, 400, 400}, picture, 0, Sharding::replicated(2), mesh, light_theme());
      painter.end();
      QVERIFY2(says(drawn, text), qPrintable(text));
      QCOMPARE(says(drawn, "devices"), devices > 64);
    }
  }

  void all_cells_have_their_ranges_alike() {
    const Mesh mesh({{"data", 2}, {"model", 2}});
    Sharding sharding = Sharding::replicated(2);
    for (AxisIndex axis : {AxisIndex{0}, AxisIndex{1}}) sharding.dims[axis].push_back(axis);
    const LayoutPicture picture = lay_out({1024, 512}, sharding, mesh);
    int whole = 0, broken = 0;
    for (int side = 40; side <= 400; side += 3) {
      QStringList said;
      for (size_t i = 0; i < picture.cells.size(); ++i) {
        QPicture drawn;
        QPainter painter(&drawn);
        painter.setClipRect(0, 0, side, side);
        paint_cell(painter, {0, 0, double(side), double(side)}, picture, int(i), sharding, mesh, light_theme());
        painter.end();
        const QString range = QString::fromStdString(range_text(picture.cells[i].box));
        const qsizetype comma = range.indexOf(", ");
        if (says(drawn, range)) said << "whole";
        else if (says(drawn, range.left(comma + 1)) && says(drawn, range.mid(comma + 2))) said << "broken";
        else if (!says(drawn, "0:") && !says(drawn, ":512") && !says(drawn, ":1024")) said << "not";
        else said << "partly";
      }
      QVERIFY2(said.count(said.front()) == said.size() && said.front() != "partly", qPrintable(said.join(' ')));
      whole += said.front() == "whole";
      broken += said.front() == "broken";
    }
    QVERIFY(whole > 10 && broken > 3);
  }
};

REGISTER_WINDOW_TEST(CellWordsTest)

}  // namespace cell_words_test

#include "cell_words_test.moc"
