#include "engine/checkpoint/stored_array.h"

#include <QtTest>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/test_program.h"

namespace stored_array_test {

using namespace shardscope;

namespace {

using Json = nlohmann::json;

class RandomValues {
 public:
  Json next(int depth = 4) {
    switch (below(depth > 0 ? 8 : 6)) {
      case 0: return nullptr;
      case 1: return below(2) == 0;
      case 2: return -static_cast<int64_t>(random_());
      case 3: return uint64_t{random_()} << 32;
      case 4: return std::ldexp(static_cast<double>(random_()), below(40) - 20);
      case 5: return name();
      case 6: {
        Json list = Json::array();
        for (int i = below(4); i > 0; --i) list.push_back(next(depth - 1));
        return list;
      }
      default: {
        Json object = Json::object();
        for (int i = below(4); i > 0; --i) object[name()] = next(depth - 1);
        return object;
      }
    }
  }
  int below(int bound) { return static_cast<int>(random_() % static_cast<uint32_t>(bound)); }

 private:
  std::string name() {
    static const std::vector<std::string> names = {"", "a", "b\"\\", "\u00e9", "a.b", "shape"};
    return names[static_cast<size_t>(below(static_cast<int>(names.size())))];
  }

  std::mt19937 random_{5};
};

template <class Exception>
std::string thrown_by(const std::string& text) {
  try {
    parse_without_repeats(text);
  } catch (const Exception& exception) {
    return exception.what();
  }
  return {};
}

}  // namespace

class StoredArrayTest : public QObject {
  Q_OBJECT

 private slots:
  void a_text_is_read_as_nlohmann_reads_it() {
    RandomValues values;
    for (int i = 0; i < 3000; ++i) {
      const std::string text = values.next().dump();
      QVERIFY2(parse_without_repeats(text) == Json::parse(text), text.c_str());
      const std::string cut = text.substr(0, static_cast<size_t>(values.below(static_cast<int>(text.size()))));
      std::string expected;
      try {
        QVERIFY(Json::parse(cut) == parse_without_repeats(cut));
      } catch (const Json::exception& exception) {
        expected = exception.what();
      }
      QCOMPARE(thrown_by<Json::exception>(cut), expected);
    }
  }

  void a_key_that_its_object_has_already_is_refused_wherever_it_stands() {
    QCOMPARE(thrown_by<std::invalid_argument>(R"({"a": 1, "b": [{"a": {"a": 2}}, {"c": 0, "c": 0}]})"),
             std::string("\"c\" is given twice"));
    QCOMPARE(thrown_by<std::invalid_argument>(R"({"a": {}, "b": 0, "\u0061": 1)"), std::string("\"a\" is given twice"));
    QCOMPARE(thrown_by<std::invalid_argument>(R"([{"a": {"a": [{"a": 0}, {"a": 0}]}}])"), std::string());
  }
};

REGISTER_TEST(StoredArrayTest)

}  // namespace stored_array_test

#include "stored_array_test.moc"
