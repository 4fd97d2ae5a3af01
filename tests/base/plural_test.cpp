#include "engine/base/plural.h"

#include <QTest>

#include "tests/test_program.h"

namespace plural_test {

using namespace shardscope;

class PluralTest : public QObject {
  Q_OBJECT

 private slots:
  void one_is_singular_and_all_else_plural() {
    QCOMPARE(counted(1, "step"), std::string("1 step"));
    QCOMPARE(counted(0, "step"), std::string("0 steps"));
    QCOMPARE(counted(2, "axis", "axes"), std::string("2 axes"));
    QCOMPARE(counted(1, "axis", "axes"), std::string("1 axis"));
    QCOMPARE(plural(3, "is", "are") + plural(1, "is", "are"), std::string("areis"));
  }
};

REGISTER_TEST(PluralTest)

}  // namespace plural_test

#include "plural_test.moc"
