#include "engine/base/place.h"

#include <QTest>

#include "tests/test_program.h"

namespace place_test {

using namespace shardscope;

class PlaceTest : public QObject {
  Q_OBJECT

 private slots:
  void a_place_reads_as_people_write_it() {
    Place step = on_rank(2);
    step.step = "step 4 (all-reduce)";
    step.name = "all-reduce part 1";
    Place in_step = at_name("Dense_0/dot");
    in_step.step = "step 4 (all-reduce)";
    Place set_value("model.num_layers");
    set_value.argument = "--set model.num_layers=0";
    const std::vector<std::pair<Place, std::string>> cases = {
        {Place(), ""},
        {"mesh.axes[0].size", "mesh.axes[0].size"},
        {in_file("x.json"), "x.json"},
        {in_file("x.json", 12, 0, "mesh"), "x.json:12: mesh"},
        {in_file("x.json", 3, 7), "x.json:3:7"},
        {in_file("", 0, 7), "column 7"},
        {in_file("", 3, 7), "line 3, column 7"},
        {at_argument("--spec"), "--spec"},
        {set_value, "--set model.num_layers=0: model.num_layers"},
        {on_rank(2), "rank 2"},
        {step, "step 4 (all-reduce), rank 2, all-reduce part 1"},
        {in_step, "step 4 (all-reduce), Dense_0/dot"},
        {at_name("Dense_0/dot"), "Dense_0/dot"},
    };
    for (const auto& [place, text] : cases) {
      QCOMPARE(to_string(place), text);
      QCOMPARE(place.empty(), text.empty());
    }
  }

  void a_value_is_in_itself_and_in_what_holds_it() {
    QVERIFY(is_inside("mesh.axes[0].size", "mesh.axes[0].size"));
    QVERIFY(is_inside("mesh.axes[0].size", "mesh.axes[0]"));
    QVERIFY(is_inside("mesh.axes[0].size", "mesh"));
    QVERIFY(!is_inside("mesh.axes[0]", "mesh.axes[0].size"));
    QVERIFY(!is_inside("meshes", "mesh"));
    QVERIFY(!is_inside("mesh", ""));
  }
};

REGISTER_TEST(PlaceTest)

}  // namespace place_test

#include "place_test.moc"
