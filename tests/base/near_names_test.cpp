#include <QTest>

#include "engine/base/error.h"
#include "tests/test_program.h"

namespace near_names_test {

using namespace shardscope;

class NearNamesTest : public QObject {
  Q_OBJECT

 private slots:
  void names_of_few_other_letters_are_near_the_nearest_first() {
    const std::vector<std::string> names = {"num_layers", "num_heads", "embed_dim", "layers"};
    QVERIFY(near_names("num_layer", names) == (std::vector<std::string>{"num_layers"}));
    QVERIFY(near_names("layer", names) == (std::vector<std::string>{"layers", "num_layers"}));
    QVERIFY(near_names("colour", names).empty());
    QVERIFY(near_names("", {}).empty());
    QCOMPARE(name_hint("embed", names), std::string("did you mean 'embed_dim'?"));
    QCOMPARE(name_hint("colour", names), std::string("known: num_layers, num_heads, embed_dim, layers"));
  }

  void a_hint_lists_no_more_than_a_person_reads() {
    std::vector<std::string> names;
    for (int i = 0; i < 10000; ++i) names.push_back("name " + std::to_string(i));
    const std::string hint = name_hint("colour", names);
    QVERIFY(hint.starts_with("known: name 0, name 1, ") && hint.ends_with(", and 9976 more"));
  }

  // Each comparison of two such names would take 10^10 steps.
  void nothing_is_near_a_name_that_no_person_writes() {
    const std::string endless(100000, 'x');
    const std::vector<std::string> names(100, std::string(100000, 'y'));
    QVERIFY(near_names(endless, names).empty());
    QVERIFY(near_names("xyzzy", names).empty());
    QCOMPARE(name_hint(endless, {"data"}), std::string("known: data"));
  }
};

REGISTER_TEST(NearNamesTest)

}  // namespace near_names_test

#include "near_names_test.moc"
