#include "engine/compile/file_paths.h"

#include <QtTest>

#include "engine/compile/settings.h"
#include "engine/machine/chosen_machine.h"
#include "engine/machine/host_machine.h"
#include "tests/test_program.h"

namespace file_paths_test {

using namespace shardscope;

namespace {

RunConfig with_machine(const std::string& json) {
  RunConfig config = load_run_file(SHARDSCOPE_SOURCE_DIR "/presets/tiny_text.json");
  config.machine = json;
  return config;
}

// Machines that name no file of their own.
const std::vector<std::string> without_file = {"", R"({"name": "host", "device": {"cores": 4}})",
                                               R"({"device": {"cores": 4}})", machine_choice(reference_host())};

}  // namespace

class FilePathsTest : public QObject {
  Q_OBJECT

 private slots:
  void a_machines_file_is_taken_from_the_folder_of_the_run_file() {
    const auto absolute = [](const char* json) { return with_absolute_paths(with_machine(json), "/runs").machine; };
    QCOMPARE(absolute(R"("a.json")"), std::string(R"("/runs/a.json")"));
    QCOMPARE(absolute(R"("../a.json")"), std::string(R"("/a.json")"));
    QCOMPARE(absolute(R"("/other/a.json")"), std::string(R"("/other/a.json")"));
    QCOMPARE(machine_file(absolute(R"({"name": "a.json", "device": {"cores": 4}})")), std::string("/runs/a.json"));
    for (const std::string& json : without_file) QCOMPARE(absolute(json.c_str()), json);
  }

  void written_to_a_folder_it_is_named_from_there_where_it_is_there() {
    for (const char* json : {R"("a.json")", R"("sub/a.json")", R"({"name": "a.json", "device": {"cores": 4}})"}) {
      const RunConfig absolute = with_absolute_paths(with_machine(json), "/runs");
      QCOMPARE(machine_file(with_relative_paths(absolute, "/runs").machine), machine_file(json));
      QVERIFY(with_relative_paths(absolute, "/elsewhere").machine == absolute.machine);
    }
    for (const std::string& json : without_file)
      QCOMPARE(with_relative_paths(with_machine(json), "/runs").machine, json);
  }

  void in_the_folder_of_its_run_file_a_path_stays_as_it_is_written() {
    for (const char* json : {R"("a.json")", R"("../machines/a.json")", R"("/other/a.json")", R"("./b/../a.json")"}) {
      for (const char* folder : {"/home/runs", "/home/runs/", "."}) {
        const RunConfig absolute = with_absolute_paths(with_machine(json), folder);
        QCOMPARE(with_relative_paths(absolute, folder).machine, std::string(json));
        QCOMPARE(with_relative_paths(with_settings(absolute, {"seed=7"}), folder).machine, std::string(json));
        QCOMPARE(with_relative_paths(absolute, "/elsewhere").machine, absolute.machine);
      }
    }
  }

  void what_a_run_reads_has_its_data_and_the_file_of_its_machine() {
    const RunConfig config = with_machine(R"("/runs/a.json")");
    std::vector<std::string> expected = data_paths(config);
    QVERIFY(!expected.empty());
    expected.emplace_back("/runs/a.json");
    QVERIFY(input_paths(config) == expected);
    for (const std::string& json : without_file)
      QCOMPARE(input_paths(with_machine(json)).back(), machine_path().string());
  }
};

REGISTER_TEST(FilePathsTest)

}  // namespace file_paths_test

#include "file_paths_test.moc"
