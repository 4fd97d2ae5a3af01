#include <QTemporaryDir>
#include <QtTest>
#include <fstream>

#include "engine/base/error.h"
#include "engine/plan/device_profile.h"

using namespace shardscope;

namespace {

std::string code_of(const std::filesystem::path& path) {
  try {
    load_profile(path);
  } catch (const Failure& failure) {
    return failure.errors().at(0).where == path.string() ? failure.errors().at(0).code : "wrong place";
  }
  return "none";
}

}  // namespace

class DeviceProfileTest : public QObject {
  Q_OBJECT

 private slots:
  void what_is_saved_is_loaded() {
    QTemporaryDir folder;
    std::filesystem::path path = folder.filePath("new folder/profile.json").toStdString();
    DeviceProfile profile;
    profile.name = "a host";
    profile.cores = 6;
    profile.matrix_flops_per_core = 123.25e9;
    profile.memory_bytes_per_core = 7.5e9;
    profile.collective_bytes_per_core = 3.25e9;
    profile.collective_latency = 17e-6;
    profile.step_latency = 2e-6;
    save_profile(profile, path);
    QVERIFY(load_profile(path) == profile);
    profile.matrix_flops_per_core_bf16 = 456.5e9;
    profile.bf16_products = "oneDNN";
    save_profile(profile, path);
    QVERIFY(load_profile(path) == profile);
  }

  void a_file_that_is_no_profile_is_an_error_at_its_place() {
    QTemporaryDir folder;
    std::filesystem::path path = folder.filePath("profile.json").toStdString();
    for (const char* text : {"", "{", "[]", "{}", "{\"cores\": 2}", "{\"cores\": \"two\"}"}) {
      std::ofstream(path) << text;
      QVERIFY2(code_of(path) == "device_profile", text);
    }
    save_profile(DeviceProfile{}, path);
    QVERIFY(code_of(path) == "none");
    DeviceProfile negative;
    negative.collective_latency = -1;
    save_profile(negative, path);
    QVERIFY(code_of(path) == "device_profile");
  }

  void the_hosts_profile_is_the_calibrated_one_with_this_hosts_cores() {
    QTemporaryDir folder;
    std::filesystem::path path = folder.filePath("profile.json").toStdString();
    qputenv("SHARDSCOPE_PROFILE", QByteArray::fromStdString(path.string()));
    QVERIFY(host_profile().matrix_flops_per_core == DeviceProfile{}.matrix_flops_per_core);
    DeviceProfile measured;
    measured.matrix_flops_per_core = 77e9;
    measured.cores = 1000;
    save_profile(measured, path);
    QVERIFY(host_profile().matrix_flops_per_core == 77e9);
    QVERIFY(host_profile().cores < 1000 && host_profile().cores >= 1);
    qunsetenv("SHARDSCOPE_PROFILE");
  }

  void threads_share_the_cores_and_are_at_least_one() {
    DeviceProfile profile;
    profile.cores = 8;
    for (int ranks = 1; ranks <= 32; ++ranks) {
      QVERIFY(profile.threads_per_rank(ranks) >= 1);
      QVERIFY(ranks >= 8 || profile.threads_per_rank(ranks) * ranks <= 8);
    }
    QCOMPARE(profile.threads_per_rank(1), 8);
  }
};

QTEST_APPLESS_MAIN(DeviceProfileTest)
#include "device_profile_test.moc"
