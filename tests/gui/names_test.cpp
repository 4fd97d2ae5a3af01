#include <QFontMetricsF>
#include <QSet>
#include <QTest>

#include "gui/look/fitted_name.h"
#include "tests/test_program.h"

namespace names_test {

using namespace shardscope;

class NamesTest : public QObject {
  Q_OBJECT
 private slots:
  void a_name_that_fits_is_whole() {
    const QFontMetricsF metrics{QFont()};
    const QString name = "SelfAttentionBlock_0/MLP_0/Dense_1/kernel";
    QCOMPARE(fitted_name(name, metrics, metrics.horizontalAdvance(name) + 1), name);
  }

  void names_that_differ_in_the_middle_alone_stay_different() {
    const QFontMetricsF metrics{QFont()};
    const double width = metrics.horizontalAdvance("SelfAttentionBlock_0/SelfAttention_0/key/kernel/adam") * 0.7;
    QSet<QString> shown;
    for (const char* block : {"0", "1", "11"})
      for (const char* what : {"key", "query", "value"}) {
        const QString name = QString("SelfAttentionBlock_%1/SelfAttention_0/%2/kernel/adam").arg(block, what);
        const QString text = fitted_name(name, metrics, width);
        QVERIFY2(metrics.horizontalAdvance(text) <= width, qPrintable(text));
        QVERIFY2(text.contains(what) && text.contains(QString("_%1/").arg(block)), qPrintable(text));
        shown << text;
      }
    QCOMPARE(shown.size(), 9);
  }

  void what_is_shown_is_never_wider_than_the_room() {
    const QFontMetricsF metrics{QFont()};
    for (const char* name : {"SelfAttentionBlock_0/SelfAttention_0/key/kernel/adam", "tokens", "a/b/c", "Dense_0"})
      for (int width = 20; width < 400; width += 7)
        QVERIFY(metrics.horizontalAdvance(fitted_name(name, metrics, width)) <= width);
  }
};

REGISTER_WINDOW_TEST(NamesTest)

}  // namespace names_test

#include "names_test.moc"
