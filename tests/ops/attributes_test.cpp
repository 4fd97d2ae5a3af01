#include <QTest>
#include <algorithm>

#include "tests/ops/op_cases.h"
#include "tests/test_program.h"

namespace attributes_test {

using namespace shardscope;
using namespace shardscope::test;

class AttributesTest : public QObject {
  Q_OBJECT

 private slots:
  // Law: the text says all of it, so that a hash of the text tells two plans apart.
  void the_text_differs_when_any_field_differs() {
    for (const std::vector<Attributes>& variants : variants_of_all()) {
      for (size_t i = 0; i < variants.size(); ++i) {
        const Attributes &one = variants[i], copy = one;
        QVERIFY2(one == copy && one.text() == copy.text() && !one.text().empty(), one.text().c_str());
        for (size_t j = 0; j < i; ++j) {
          const Attributes& other = variants[j];
          QVERIFY2(!(one == other) && one.text() != other.text(), (one.text() + " / " + other.text()).c_str());
        }
      }
    }
  }

  void attributes_of_every_op_are_varied() {
    const std::vector<std::vector<Attributes>> all = variants_of_all();
    for (const OpCase& one : op_cases()) {
      const auto alike = [&](const std::vector<Attributes>& variants) {
        return one.attributes.same_type(variants.at(0));
      };
      QVERIFY2(one.attributes == Attributes() || std::ranges::any_of(all, alike), one.op.c_str());
    }
  }

 private:
  static std::vector<std::vector<Attributes>> variants_of_all() {
    std::vector<std::vector<Attributes>> all;
    for (const OpCases& family : op_case_families()) {
      all.insert(all.end(), family.attributes.begin(), family.attributes.end());
    }
    return all;
  }
};

REGISTER_TEST(AttributesTest)

}  // namespace attributes_test

#include "attributes_test.moc"
