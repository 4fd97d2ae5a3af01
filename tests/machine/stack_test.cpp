#include "engine/machine/stack.h"

#include <QTest>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/base/input_file.h"
#include "engine/machine/chosen_machine.h"
#include "engine/machine/chosen_stack.h"
#include "engine/machine/machine_library.h"
#include "engine/machine/stack_keys.h"
#include "tests/test_program.h"

namespace stack_test {

using namespace shardscope;
using Json = nlohmann::json;

namespace {

std::string fault_of(const std::string& json) {
  try {
    chosen_stack(json);
  } catch (const Failure& failure) {
    return failure.errors().front().code + " " + failure.errors().front().place.path;
  }
  return "none";
}

std::string named(std::string_view name) { return '"' + std::string(name) + '"'; }

// Every object with a number, a text or a flag says where it is from, or the one that it is in does.
bool has_sources(const Json& node, bool inherited = false) {
  const bool says = inherited || (node.contains("source") && !node["source"].get<std::string>().empty());
  bool has_value = false;
  for (const auto& [key, value] : node.items()) {
    if (value.is_object() && !has_sources(value, says && key == "flops_per_second")) return false;
    if (value.is_array()) {
      for (const Json& item : value) {
        if (item.is_object() && !has_sources(item)) return false;
      }
    }
    has_value |= !value.is_object() && !value.is_array() && key != "source" && key != "name";
  }
  return says || !has_value;
}

}  // namespace

class StackTest : public QObject {
  Q_OBJECT

 private slots:
  void the_library_has_each_file_of_the_folder_and_every_value_says_where_it_is_from() {
    size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(SHARDSCOPE_SOURCE_DIR "/resources/stacks")) {
      const std::string name = entry.path().stem().string();
      QCOMPARE(chosen_stack(named(name)).name, name);
      QVERIFY2(has_sources(Json::parse(std::ifstream(entry.path()))), name.c_str());
      ++files;
    }
    QCOMPARE(stack_names().size(), files);
    QVERIFY(files >= 6 && std::ranges::is_sorted(stack_names()));
  }

  void the_default_is_this_program_and_changes_no_machine() {
    QVERIFY(chosen_stack("").runs_here());
    Stack own = chosen_stack(named("shardscope"));
    QVERIFY(!own.source.empty());
    own.source.clear();
    QVERIFY(own == Stack{});
    for (std::string_view name : library_names()) {
      QVERIFY(chosen_machine(named(name), {}, own) == *library_machine(name));
    }
  }

  void what_a_stack_says_of_a_machine_fits_it_and_takes_nothing_from_its_peaks() {
    for (std::string_view stack_name : stack_names()) {
      const Stack stack = chosen_stack(named(stack_name));
      for (const auto& [name, changes] : stack.machines) {
        const Machine own = *library_machine(name), reached = chosen_machine(named(name), {}, stack);
        QVERIFY(reached != own);
        QCOMPARE(reached.name, own.name);
        QCOMPARE(reached.device.memory_bytes, own.device.memory_bytes);
        for (const auto& [precision, rate] : own.device.products) {
          QCOMPARE(reached.device.products.at(precision).flops_per_second, rate.flops_per_second);
        }
        for (size_t i = 0; i < own.levels.size(); ++i) {
          QCOMPARE(reached.levels[i].bytes_per_second, own.levels[i].bytes_per_second);
        }
        const Evidence& evidence = reached.evidence;
        QVERIFY(evidence.memory_measurements <= evidence.measurements);
        QCOMPARE(evidence.memory_error > 0, evidence.memory_measurements > 0);
        QCOMPARE(evidence.time_error > 0, evidence.measurements > 0);
      }
    }
  }

  void values_of_its_own_take_the_place_of_those_of_the_stack() {
    const Stack megatron = chosen_stack(named("megatron"));
    Stack changed = chosen_stack(R"({"name": "megatron", "attention": {"kernel": "scores"}})");
    QVERIFY(changed.attention.kernel == AttentionKernel::scores);
    QVERIFY(changed.overlap == megatron.overlap);
    changed.attention.kernel = megatron.attention.kernel;
    QVERIFY(changed == megatron);
  }

  void faults_are_at_their_places() {
    QCOMPARE(fault_of(R"("megatrn")"), std::string("unknown_stack stack"));
    QCOMPARE(fault_of(R"({"name": "megatrn"})"), std::string("unknown_stack stack.name"));
    QCOMPARE(fault_of(R"({"attention": {}})"), std::string("missing_key stack.name"));
    QCOMPARE(fault_of(R"({"name": "megatron", "atention": {}})"), std::string("unknown_key stack.atention"));
    QCOMPARE(fault_of(R"({"name": "megatron", "attention": {"kernel": "paged"}})"),
             std::string("unknown_choice stack.attention.kernel"));
  }

  void the_schema_in_the_resources_is_that_of_the_table() {
    const std::string path = SHARDSCOPE_SOURCE_DIR "/resources/stack.schema.json";
    const std::string expected = SHARDSCOPE_BINARY_DIR "/stack.schema.json";
    std::ofstream(expected) << stack_schema();
    QVERIFY2(read_text(path, 1 << 20) == stack_schema(), ("copy " + expected + " to it").c_str());
  }
};

REGISTER_TEST(StackTest)

}  // namespace stack_test

#include "stack_test.moc"
