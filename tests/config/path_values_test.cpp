#include "engine/config/path_values.h"

#include <QTest>
#include <limits>
#include <set>

#include "engine/config/place.h"
#include "engine/config/run_document.h"
#include "tests/config/random_config.h"
#include "tests/test_program.h"

namespace path_values_test {

using namespace shardscope;

namespace {

const JsonNode* node_at(const JsonNode& document, const std::string& path) {
  const JsonNode* node = &document;
  const std::vector<PlaceStep> steps = *split_place(path);
  for (const PlaceStep& step : steps) node = step.index ? &node->items.at(*step.index) : node->find(step.name);
  return node;
}

size_t characters_of_plain_values(const JsonNode& node) {
  if (node.items.empty()) return node.is(JsonNode::Kind::object) ? 0 : print_json_line(node).size();
  size_t count = 0;
  for (const JsonNode& item : node.items) count += characters_of_plain_values(item);
  return count;
}

}  // namespace

class PathValuesTest : public QObject {
  Q_OBJECT

 private slots:
  void each_value_of_a_document_is_once_at_its_path() {
    test::RandomConfigs configs(9);
    for (int i = 0; i < 300; ++i) {
      const JsonNode document = to_whole_run_document(configs.next());
      std::set<std::string> paths;
      size_t characters = 0;
      for (const PathValue& value : path_values(document)) {
        const JsonNode* node = node_at(document, value.path);
        QVERIFY2(node && print_json_line(*node) == value.text, value.path.c_str());
        QVERIFY2(paths.insert(value.path).second, value.path.c_str());
        characters += characters_of_plain_values(*node);
      }
      QCOMPARE(characters, characters_of_plain_values(document));
    }
  }

  void lists_of_objects_are_listed_by_their_elements_and_others_are_one_value() {
    const auto text = [](const char* json) {
      std::string all;
      for (const PathValue& value : path_values(read_json(json, ""))) all += value.path + "=" + value.text + ";";
      return all;
    };
    QCOMPARE(text(R"({"a": {"b": [1, 2], "x.y": null}, "c": [{"d": 3}, 4], "e": {}, "f": []})"),
             std::string("a.b=[1, 2];a[\"x.y\"]=null;c[0].d=3;c[1]=4;f=[];"));
  }

  void what_json_cannot_say_has_the_reason_in_its_place() {
    JsonNode document = JsonNode::object();
    document.add("a", JsonNode::of(std::numeric_limits<double>::infinity()));
    document.add("b", JsonNode::of(int64_t{1}));
    const std::vector<PathValue> values = path_values(document);
    QCOMPARE(values.size(), size_t{2});
    QVERIFY(!values[0].text.empty() && values[1].text == "1");
  }
};

REGISTER_TEST(PathValuesTest)

}  // namespace path_values_test

#include "path_values_test.moc"
