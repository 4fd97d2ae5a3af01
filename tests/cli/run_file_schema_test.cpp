#include "engine/cli/run_file_schema.h"

#include <QTest>
#include <filesystem>
#include <fstream>

#include "engine/base/input_file.h"
#include "engine/cli/option_reference.h"
#include "tests/config/json_schema.h"
#include "tests/test_program.h"

namespace run_file_schema_test {

using namespace shardscope;
using nlohmann::json;
using test::accepts;
namespace fs = std::filesystem;

namespace {

const fs::path root = SHARDSCOPE_SOURCE_DIR;

const json& schema() {
  static const json whole = json::parse(run_file_schema());
  return whole;
}

template <class T>
json plain_json(const T& value) {
  return value;
}
json plain_json(Null) { return nullptr; }

json json_of(const OptionValue& value) {
  return std::visit([](const auto& plain) { return plain_json(plain); }, value);
}

// {"lora": {"rank": 8}} of the option "lora.rank".
void put(json& section, const std::string& name, const json& value) {
  const size_t dot = name.find('.');
  if (dot == std::string::npos) {
    section[name] = value;
  } else {
    put(section[name.substr(0, dot)], name.substr(dot + 1), value);
  }
}

}  // namespace

class RunFileSchemaTest : public QObject {
  Q_OBJECT

 private slots:
  void the_schema_in_the_resources_is_that_of_the_tables_and_registries() {
    const std::string path = (root / "resources" / "run_file.schema.json").string();
    QVERIFY2(read_text(path, 1 << 20, "unreadable_file") == run_file_schema(), "not of this program: ./run documents");
  }

  void every_preset_is_accepted() {
    int presets = 0;
    for (const auto& entry : fs::directory_iterator(root / "presets")) {
      if (entry.path().extension() != ".json") continue;
      QVERIFY2(accepts(schema(), schema(), json::parse(std::ifstream(entry.path()))), entry.path().c_str());
      ++presets;
    }
    QVERIFY(presets > 20);
  }

  void options_are_accepted_as_their_owner_takes_them() {
    const std::vector<OptionValue> values = {true,
                                             int64_t{0},
                                             int64_t{1},
                                             int64_t{-1},
                                             int64_t{64},
                                             int64_t{1} << 61,
                                             0.5,
                                             1e30,
                                             -0.5,
                                             std::string("f32"),
                                             std::string("no choice"),
                                             TextList{},
                                             TextList{"a"}};
    int taken = 0, refused = 0;
    for (const OptionOwner& owner : option_owners()) {
      const std::string choice = owner.section == "data" ? "kind" : "name";
      const json& rule = schema().at("properties").at(owner.section);
      const auto check = [&](const OptionList& options, const std::string& what) {
        std::vector<Error> errors;
        resolve_options(*owner.options, options, owner.section, errors);
        json section = {{choice, owner.name}};
        for (const auto& [name, value] : options) put(section, name, json_of(value));
        QVERIFY2(accepts(schema(), rule, section) == errors.empty(), (owner.name + " " + what).c_str());
        ++(errors.empty() ? taken : refused);
      };
      OptionList required;
      for (const OptionDefinition& option : *owner.options)
        if (option.required) required.emplace_back(option.name, option.default_value);
      check(required, "alone");
      for (size_t i = 0; i < required.size(); ++i) {
        OptionList fewer = required;
        fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
        check(fewer, "without " + required[i].first);
      }
      OptionList more = required;
      more.emplace_back("colour", int64_t{1});
      check(more, "with another option");
      for (const OptionDefinition& option : *owner.options) {
        if (option.is_open) continue;
        for (const OptionValue& value : values) {
          OptionList changed = required;
          std::erase_if(changed, [&](const auto& entry) { return entry.first == option.name; });
          changed.emplace_back(option.name, value);
          check(changed, option.name + " " + json_of(value).dump());
        }
      }
    }
    QVERIFY(taken > 100 && refused > 1000);
  }
};

REGISTER_TEST(RunFileSchemaTest)

}  // namespace run_file_schema_test

#include "run_file_schema_test.moc"
