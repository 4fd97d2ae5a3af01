#include "engine/machine/machine_library.h"

#include <QTest>
#include <algorithm>
#include <filesystem>

#include "engine/base/error.h"
#include "engine/machine/chosen_machine.h"
#include "engine/machine/host_machine.h"
#include "engine/machine/machine_file.h"
#include "engine/machine/machine_prices.h"
#include "tests/test_program.h"

namespace machine_library_test {

using namespace shardscope;

namespace {

int64_t devices_of(const Machine& machine) {
  int64_t devices = 1;
  for (const Level& level : machine.levels) devices *= level.count.empty() ? 1 : level.count.front();
  return devices;
}

std::string fault_of(const std::string& json) {
  try {
    chosen_machine(json, {});
  } catch (const Failure& failure) {
    return to_string(failure.errors().front());
  }
  return "none";
}

}  // namespace

class MachineLibraryTest : public QObject {
  Q_OBJECT

 private slots:
  void it_has_each_file_of_the_folder_as_it_stands() {
    size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(SHARDSCOPE_SOURCE_DIR "/resources/machines")) {
      const Machine machine = load_machine(entry.path());
      QCOMPARE(machine.name, entry.path().stem().string());
      QVERIFY(library_machine(machine.name) == machine);
      ++files;
    }
    QCOMPARE(library_names().size(), files);
    QVERIFY(files >= 16 && std::ranges::is_sorted(library_names()));
    QVERIFY(!library_machine("dgx") && !library_machine("host"));
  }

  void every_number_says_where_it_is_from() {
    for (std::string_view name : library_names()) {
      const Machine machine = *library_machine(name);
      const auto check = [&](const std::string& source) { QVERIFY2(!source.empty(), machine.name.c_str()); };
      check(machine.source);
      check(machine.device.source);
      for (const MemoryLevel& level : machine.device.memory) check(level.source);
      for (const auto& [precision, rate] : machine.device.products) check(rate.source);
      for (const Level& level : machine.levels) check(level.source);
      for (const OverlapRule& rule : machine.overlap) check(rule.source);
    }
  }

  // Where sources give width and clock; datasheets round peaks to three digits.
  void peaks_follow_from_units_width_and_clock() {
    std::vector<std::string_view> followed;
    for (std::string_view name : library_names()) {
      const Machine machine = *library_machine(name);
      for (const auto& [precision, rate] : machine.device.products) {
        const double peak = rate.units * rate.flops_per_cycle * rate.clock_hz;
        if (peak == 0) continue;
        QVERIFY2(std::abs(peak / rate.flops_per_second - 1) < 0.005, name.data());
        followed.push_back(name);
      }
    }
    QVERIFY2(followed.size() >= 30, qPrintable(QString::number(followed.size())));
  }

  // A cache is faster and smaller than what is outside of it, and each message takes time.
  void caches_and_messages_are_said() {
    for (std::string_view name : library_names()) {
      const Machine machine = *library_machine(name);
      const std::vector<MemoryLevel>& memory = machine.device.memory;
      QVERIFY2(memory.size() > 1 || name.starts_with("tpu"), machine.name.c_str());
      for (size_t i = 1; i < memory.size(); ++i) {
        QVERIFY(memory[i].bytes_per_second < memory[i - 1].bytes_per_second);
        QVERIFY(memory[i].capacity_bytes == 0 || memory[i].capacity_bytes > memory[i - 1].capacity_bytes);
      }
      for (const Level& level : machine.levels) QVERIFY2(level.latency > 0, machine.name.c_str());
      for (const CollectiveRule& rule : machine.collectives) QVERIFY(!rule.source.empty());
    }
  }

  // Narrower formats are no slower, and inner links no slower than outer ones.
  void rates_are_in_order() {
    for (std::string_view name : library_names()) {
      const Machine machine = *library_machine(name);
      double before = 0;
      for (const auto& [precision, rate] : machine.device.products) {
        QVERIFY2(rate.flops_per_second >= before, machine.name.c_str());
        before = rate.flops_per_second;
      }
      for (size_t level = 1; level < machine.levels.size(); ++level)
        QVERIFY(machine.levels[level].bytes_per_second <= machine.levels[level - 1].bytes_per_second);
      QVERIFY(machine.levels.back().count.empty());
    }
  }

  void a_run_file_says_how_many_nodes_or_devices_there_are() {
    for (std::string_view name : library_names()) {
      const std::string quoted = "{\"name\": \"" + std::string(name) + "\", ";
      const Machine whole = *library_machine(name), sixteen = chosen_machine(quoted + "\"nodes\": 16}", {});
      QCOMPARE(devices_of(sixteen), 16 * devices_of(whole));
      const std::string count = std::to_string(16 * devices_of(whole));
      QVERIFY(chosen_machine(quoted + "\"devices\": " + count + "}", {}) == sixteen);
      QVERIFY(MachinePrices(sixteen, 16).topology().device_count() == 16);
      QVERIFY_THROWS_EXCEPTION(Failure, MachinePrices(sixteen, static_cast<int>(16 * devices_of(whole)) + 1));
    }
  }

  // Open along its dimensions unless the run file says otherwise.
  void fewer_devices_than_a_pod_are_a_compact_slice_of_it() {
    const auto torus = [](const std::string& json) { return chosen_machine(json, {}).levels.front(); };
    const Level cube = torus(R"({"name": "tpu_v5p", "devices": 64})");
    QCOMPARE(cube.dims, (std::vector<int>{4, 4, 4}));
    QCOMPARE(cube.count, std::vector<int>{64});
    QCOMPARE(torus(R"({"name": "tpu_v5e", "devices": 32})").dims, (std::vector<int>{4, 8}));
    QCOMPARE(torus(R"({"name": "tpu_v5e", "devices": 256})").dims, (std::vector<int>{16, 16}));
    const auto ring_seconds = [](const std::string& json, int devices) {
      const MachinePrices prices(chosen_machine(json, {}), devices);
      const Mesh mesh({{"inner", devices}});
      return prices.collective_seconds(InstructionKind::all_gather, 1e9, prices.place(mesh, {0}));
    };
    const std::string v5p = R"({"name": "tpu_v5p", "devices": 64)", wraps = R"(, "levels": {"ici": {"wraps": true}}})";
    QVERIFY(ring_seconds(v5p + wraps, 64) < 0.6 * ring_seconds(v5p + "}", 64));
    const std::string pod = R"({"name": "tpu_v5e", "devices": 256)";
    QCOMPARE(ring_seconds(pod + "}", 256), ring_seconds(pod + wraps, 256));
    const std::string fault = fault_of(R"({"name": "tpu_v5p", "devices": 74})");
    QVERIFY2(fault.find("machine.devices: a node has 8960") == 0 && fault.find("slice: 72, 75") != std::string::npos,
             fault.c_str());
    QVERIFY(fault_of(R"({"name": "tpu_v5p", "devices": 8961})").find("a multiple of 8960") != std::string::npos);
  }

  void what_cannot_be_is_said_at_its_place() {
    QVERIFY(fault_of(R"("dgx_h10")").find("dgx_h100") != std::string::npos);
    QVERIFY(fault_of(R"({"name": "dgx_h100", "devices": 12})").find("machine.devices: a node has 8") == 0);
    for (const char* wrong : {"0", "-1", "1.5", "\"two\"", "99999999999"}) {
      const std::string fault = fault_of(std::string(R"({"name": "dgx_h100", "nodes": )") + wrong + "}");
      QVERIFY2(fault.find("machine.nodes") == 0, fault.c_str());
    }
    QVERIFY(fault_of(R"({"name": "dgx_h100", "levels": {"nvlnk": {"latency": 1e-6}}})").find("nvlink") !=
            std::string::npos);
  }

  void a_machine_of_the_library_is_no_file() {
    QCOMPARE(machine_file(R"("dgx_h100")"), std::string());
    QCOMPARE(machine_file(R"({"name": "tpu_v5p", "nodes": 2})"), std::string());
    QCOMPARE(machine_file(R"("mine.json")"), std::string("mine.json"));
  }
};

REGISTER_TEST(MachineLibraryTest)

}  // namespace machine_library_test

#include "machine_library_test.moc"
