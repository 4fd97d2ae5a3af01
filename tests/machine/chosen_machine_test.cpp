#include "engine/machine/chosen_machine.h"

#include <QTemporaryDir>
#include <QtTest>

#include "engine/config/json_document.h"
#include "engine/machine/former_profile.h"
#include "engine/machine/host_machine.h"
#include "engine/machine/machine_file.h"
#include "engine/machine/topology.h"
#include "tests/base/errors_of.h"
#include "tests/machine/random_machine.h"
#include "tests/test_program.h"

namespace chosen_machine_test {

using namespace shardscope;

class ChosenMachineTest : public QObject {
  Q_OBJECT

 private slots:
  void without_a_word_it_is_this_host_with_the_runs_hosts() {
    QVERIFY(chosen_machine("", {}) == host_machine());
    QVERIFY(chosen_machine("\"host\"", {3, 2}) == with_hosts(host_machine(), {3, 2}));
    QCOMPARE(machine_choice(std::string("host")), std::string());
  }

  void a_machine_in_the_run_file_or_in_a_file_of_its_own_is_that_machine() {
    test::RandomMachines machines(1);
    QTemporaryDir folder;
    for (int i = 0; i < 200; ++i) {
      const Machine machine = machines.next();
      const std::string path = folder.filePath("machine.json").toStdString();
      save_machine(machine, path);
      QVERIFY(chosen_machine(machine_choice(path), {}) == machine);
      const Machine again = chosen_machine(machine_choice(machine), {});
      QVERIFY(again.device == machine.device && again.collectives == machine.collectives);
      for (size_t level = 0; level < machine.levels.size(); ++level) {
        Level expected = machine.levels[level];
        if (expected.kind == LevelKind::shared_memory && expected.count.size() > 1) {
          expected.count = {*std::max_element(expected.count.begin(), expected.count.end())};
        }
        QVERIFY(again.levels[level] == expected);
      }
    }
  }

  void a_number_of_ones_own_takes_the_place_of_the_machines_and_nothing_else_changes() {
    Machine expected = with_hosts(host_machine(), {2, 2});
    expected.levels.back().latency = 1e-3;
    expected.device.instruction_latency = 7e-6;
    const std::string text =
        R"({"name": "host", "levels": {"network": {"latency": 1e-3}}, "device": {"instruction_latency": 7e-6}})";
    QVERIFY(chosen_machine(text, {2, 2}) == expected);
  }

  void nodes_and_devices_that_agree_are_one_size() {
    QVERIFY(chosen_machine(R"({"name": "dgx_h100", "nodes": 8, "devices": 64})", {}) ==
            chosen_machine(R"({"name": "dgx_h100", "devices": 64})", {}));
  }

  void a_machine_gets_as_many_nodes_as_devices_need_by_the_key_that_it_has() {
    QCOMPARE(with_devices(R"({"name": "dgx_h100", "nodes": 8})", 100),
             std::string(R"({"name": "dgx_h100", "nodes": 13})"));
    QCOMPARE(with_devices(R"({"name": "dgx_h100", "devices": 64})", 65),
             std::string(R"({"name": "dgx_h100", "devices": 72})"));
    QCOMPARE(with_devices(R"({"name": "dgx_h100", "nodes": 8, "devices": 64})", 128),
             std::string(R"({"name": "dgx_h100", "nodes": 16, "devices": 128})"));
    for (const char* same : {"", R"("dgx_h100")", R"({"name": "dgx_h100", "nodes": 8})", R"({"name": "dgx_h100"})",
                             R"({"name": "nowhere", "nodes": 1})"})
      QCOMPARE(with_devices(same, 64), std::string(same));
    QVERIFY(!machine_size(R"({"name": "dgx_h100"})"));
    QCOMPARE(machine_size(R"({"name": "dgx_h100", "devices": 64})")->key, std::string("devices"));
  }

  void what_no_machine_has_is_an_error_at_its_place_with_what_would_be_right() {
    const auto error_of = [](const std::string& text) { return errors_of([&] { chosen_machine(text, {2, 2}); }); };
    const auto level = error_of(R"({"levels": {"netwrok": {"latency": 1e-3}}})");
    QCOMPARE(level.size(), size_t{1});
    QCOMPARE(level[0].place.path, std::string("machine.levels.netwrok"));
    QVERIFY(level[0].hint.find("network") != std::string::npos);
    QCOMPARE(error_of(R"({"levels": {"network": {"latency": -1}}})")[0].place.path,
             std::string("machine.levels[1].latency"));
    QCOMPARE(error_of(R"({"nodes": 5})")[0].place.path, std::string("machine.nodes"));
    const auto sizes = error_of(R"({"name": "dgx_h100", "nodes": 2, "devices": 64})");
    QCOMPARE(sizes.size(), size_t{1});
    QCOMPARE(sizes[0].place.path, std::string("machine.devices"));
    QVERIFY(sizes[0].hint.find("16") != std::string::npos);
    QVERIFY(!error_of(R"("no/such/file.json")").empty());
    QVERIFY(!error_of(R"({"name": "no/such/file.json"})").empty());
  }

  void the_network_of_a_choice_is_set_read_and_taken_away_again() {
    test::RandomMachines machines(2);
    std::vector<std::string> choices = {"", R"("a/file.json")", R"({"name": "host", "device": {"cores": 4}})"};
    for (int i = 0; i < 50; ++i) choices.push_back(machine_choice(with_hosts(machines.next(), {1, 1})));
    for (const std::string& choice : choices) {
      const NetworkChoice before = network_choice(choice), wanted{2e9, 3e-6};
      const std::string changed = with_network(choice, wanted);
      const bool is_whole = choice.find("\"kind\"") != std::string::npos;
      const bool has_none = is_whole && !before.bytes_per_second;
      QVERIFY(network_choice(changed) == (has_none ? before : wanted));
      QVERIFY(network_choice(with_network(changed, before)) == before);
      if (is_whole) QCOMPARE(with_network(choice, {}), choice);
      if (!is_whole || has_none) QCOMPARE(with_network(changed, before), choice);
    }
  }

  void a_profile_of_an_earlier_version_is_the_machine_that_it_described() {
    const Machine machine = machine_of_profile(
        R"({"name": "a host", "cores": 4.0, "matrix_flops_per_core": 1e11, "matrix_flops_per_core_bf16": 2e11,
            "memory_bytes_per_core": 9e9, "collective_bytes_per_core": 4e9, "collective_latency": 5e-5,
            "step_latency": 2e-6, "memory_bytes": 1073741824, "bf16_products": "oneDNN", "ranks_per_host": [3, 1],
            "links": {"data": {"bytes_per_second": 1e9, "latency": 1e-5}}})",
        "profile.json");
    QCOMPARE(machine.name, std::string("a host"));
    QCOMPARE(machine.device.cores, 4);
    QCOMPARE(machine.device.products.at(Precision::bf16).flops_per_second, 2e11);
    QCOMPARE(machine.device.memory_bytes, int64_t{1} << 30);
    QCOMPARE(machine.levels.front().latency, 5e-5);
    QCOMPARE(ranks_per_host(machine, Topology(machine.levels, 4)), (std::vector<int>{3, 1}));
    const auto errors = errors_of([] { machine_of_profile(R"({"cores": "two"})", "profile.json"); });
    QCOMPARE(errors[0].place.path, std::string("cores"));
    QCOMPARE(errors[0].place.file, std::string("profile.json"));
  }
};

REGISTER_TEST(ChosenMachineTest)

}  // namespace chosen_machine_test

#include "chosen_machine_test.moc"
