#include "engine/machine/host_machine.h"

#include <sys/stat.h>

#include <QTemporaryDir>
#include <QtTest>
#include <fstream>

#include "engine/machine/machine_file.h"
#include "engine/machine/machine_prices.h"
#include "tests/base/errors_of.h"
#include "tests/test_program.h"

namespace host_machine_test {

using namespace shardscope;

namespace {

void name_file(const std::string& path) { qputenv("SHARDSCOPE_PROFILE", QByteArray::fromStdString(path)); }

const char* const old_profile = R"({"name": "x", "cores": 2.0, "matrix_flops_per_core": 1e11})";

}  // namespace

class HostMachineTest : public QObject {
  Q_OBJECT

 private slots:
  void cleanup() {
    qunsetenv("SHARDSCOPE_PROFILE");
    qunsetenv("XDG_CONFIG_HOME");
  }

  void the_standard_host_is_a_machine_that_a_file_can_say() {
    const Machine host = standard_host();
    QVERIFY(parse_machine(machine_text(host), "") == host);
    QVERIFY(host.device.kind == DeviceKind::host_cores && host.device.cores >= 1 && host.device.memory_bytes > 0);
    const MachinePrices prices(host, 3);
    QVERIFY(prices.matrix_product_seconds({Precision::f32, 10, 10, 10}) > 0);
    QVERIFY(prices.transfer_seconds(0, 2, 1) > 0);
  }

  void the_calibrated_file_is_read_with_this_hosts_cores_and_memory() {
    QTemporaryDir folder;
    const std::string path = folder.filePath("machine.json").toStdString();
    name_file(path);
    QCOMPARE(machine_path().string(), path);
    QVERIFY(host_machine() == standard_host());
    Machine measured = standard_host();
    measured.device.products[Precision::f32].flops_per_second = 77e9;
    measured.device.cores = 1000;
    measured.device.memory_bytes = 5;
    save_machine(measured, path);
    QCOMPARE(host_machine().device.products[Precision::f32].flops_per_second, 77e9);
    QCOMPARE(host_machine().device.cores, standard_host().device.cores);
    QCOMPARE(host_machine().device.memory_bytes, standard_host().device.memory_bytes);
  }

  void the_file_is_in_the_configuration_folder_where_none_is_named() {
    QTemporaryDir folder;
    qputenv("XDG_CONFIG_HOME", folder.path().toUtf8());
    QCOMPARE(machine_path().string(), folder.filePath("shardscope/machine.json").toStdString());
    QVERIFY(host_machine() == standard_host());
    Machine measured = standard_host();
    measured.device.instruction_latency = 7e-6;
    save_machine(measured, machine_path());
    QCOMPARE(host_machine().device.instruction_latency, 7e-6);
  }

  void an_earlier_versions_profile_says_calibrate_again() {
    QTemporaryDir folder;
    const std::filesystem::path old = folder.filePath("shardscope/device_profile.json").toStdString();
    std::filesystem::create_directories(old.parent_path());
    std::ofstream(old) << old_profile;
    name_file(old.string());
    QCOMPARE(error_of([] { host_machine(); }).code, std::string("old_profile"));
    qunsetenv("SHARDSCOPE_PROFILE");
    qputenv("XDG_CONFIG_HOME", folder.path().toUtf8());
    const Error error = error_of([] { host_machine(); });
    QCOMPARE(error.code, std::string("old_profile"));
    QCOMPARE(error.place.file, old.string());
    save_machine(standard_host(), machine_path());
    QVERIFY(host_machine() == standard_host());
  }

  void what_cannot_be_read_is_an_error_and_not_taken_for_missing() {
    QTemporaryDir folder;
    const std::string directory = folder.filePath("directory").toStdString();
    std::filesystem::create_directory(directory);
    const std::string fifo = folder.filePath("fifo").toStdString();
    QCOMPARE(::mkfifo(fifo.c_str(), 0600), 0);
    for (const std::string& path : {directory, fifo, std::string("/dev/zero")}) {
      name_file(path);
      const Error error = error_of([] { host_machine(); });
      QVERIFY2(!error.code.empty() && error.place.file == path, path.c_str());
    }
    std::ofstream(folder.filePath("file").toStdString()) << "x";
    name_file(folder.filePath("file/machine.json").toStdString());
    QVERIFY(host_machine() == standard_host());
  }
};

REGISTER_TEST(HostMachineTest)

}  // namespace host_machine_test

#include "host_machine_test.moc"
