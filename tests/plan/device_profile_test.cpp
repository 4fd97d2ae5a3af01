#include <sys/stat.h>

#include <QTemporaryDir>
#include <QtTest>
#include <fstream>

#include "engine/base/error.h"
#include "engine/plan/device_profile.h"
#include "tests/test_program.h"

namespace device_profile_test {

using namespace shardscope;

namespace {

// "CODE LINE PATH" of each fault.
std::string faults_of(const std::filesystem::path& path) {
  std::string text;
  try {
    load_profile(path);
  } catch (const Failure& failure) {
    for (const Error& error : failure.errors()) {
      if (error.place.file != path.string()) return "elsewhere: " + to_string(error);
      text += (text.empty() ? "" : "; ") + error.code + " " + std::to_string(error.place.line) + " " + error.place.path;
    }
  }
  return text;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  return at == std::string::npos ? "" : text.replace(at, from.size(), to);
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
    profile.links = {{"data", 12.5e9, 10e-6}, {"model", 300e9, 2e-6}};
    save_profile(profile, path);
    QVERIFY(load_profile(path) == profile);
  }

  void a_file_that_is_no_profile_is_an_error_at_its_place() {
    QTemporaryDir folder;
    const std::filesystem::path path = folder.filePath("profile.json").toStdString();
    save_profile(DeviceProfile{}, path);
    QCOMPARE(faults_of(path), std::string());
    std::ifstream file(path);
    const std::string good{std::istreambuf_iterator<char>(file), {}};
    std::vector<std::pair<std::string, std::string>> texts = {
        {"", "empty_file 1 "},
        {"{", "truncated 1 "},
        {"[]", "wrong_type 1 "},
        {std::string(100000, ' '), "device_profile 0 "},
        {replaced(good, "\"name\": \"two-core host\"", "\"name\": 5"), "wrong_type 2 name"},
        {replaced(good, "\"cores\": 2.0", "\"cores\": \"two\""), "wrong_type 3 cores"},
        {replaced(good, "\"cores\": 2.0", "\"cores\": 1e300"), "out_of_range 3 cores"},
        {replaced(good, "\"cores\": 2.0", "\"cores\": 0.5"), "out_of_range 3 cores"},
        {replaced(good, "\"cores\": 2.0", "\"cores\": 2.0, \"cores\": 3"), "duplicate_key 3 cores"},
        {replaced(good, "\"step_latency\"", "\"latency_of_steps\""), "missing_key 1 step_latency"},
        {replaced(good, "\"cores\": 2.0", "\"cores\": 1e999"), "number_range 3 "},
    };
    const std::string end = "\"memory_bytes\": 17179869184";
    for (const auto& [links, faults] :
         {std::pair{"5", "wrong_type 10 links"},
          {"{\"data\": 5}", "wrong_type 10 links.data"},
          {"{\"data\": {\"latency\": 1e-5}}", "missing_key 10 links.data.bytes_per_second"},
          {"{\"data\": {\"bytes_per_second\": 1e9, \"latency\": 0}}", "out_of_range 10 links.data.latency"}}) {
      texts.emplace_back(replaced(good, end, end + ",\n  \"links\": " + links), faults);
    }
    for (const auto& [text, faults] : texts) {
      std::ofstream(path) << text;
      QCOMPARE(faults_of(path), faults);
    }
  }

  void a_host_shares_its_cores_among_its_own_ranks() {
    DeviceProfile profile;
    profile.cores = 8;
    QCOMPARE(profile.threads_per_rank(8), 1);
    profile.ranks_per_host = {4, 3, 1};
    QCOMPARE(profile.ranks_on_host(8), 4);
    QCOMPARE(profile.threads_per_rank(8), 2);
    const std::vector<int> hosts = {0, 0, 0, 0, 1, 1, 1, 2};
    for (int rank = 0; rank < 8; ++rank) QCOMPARE(profile.host_of(rank), hosts[static_cast<size_t>(rank)]);
    QVERIFY(parse_profile(profile_text(profile), "text") == profile);
  }

  void a_rate_that_no_machine_has_is_an_error() {
    QTemporaryDir folder;
    const std::filesystem::path path = folder.filePath("profile.json").toStdString();
    for (double DeviceProfile::*rate : {&DeviceProfile::collective_latency, &DeviceProfile::matrix_flops_per_core}) {
      for (double value : {-1.0, 0.0, -0.0, 5e-324, 1e-310, 1e300}) {
        DeviceProfile profile;
        profile.*rate = value;
        save_profile(profile, path);
        QVERIFY(faults_of(path).starts_with("out_of_range "));
      }
    }
  }

  void what_cannot_be_read_is_an_error_and_not_taken_for_missing() {
    QTemporaryDir folder;
    const std::string directory = folder.filePath("directory").toStdString();
    std::filesystem::create_directory(directory);
    QCOMPARE(faults_of(directory), std::string("device_profile 0 "));
    QCOMPARE(faults_of("/dev/zero"), std::string("device_profile 0 "));
    const std::string fifo = folder.filePath("fifo").toStdString();
    QCOMPARE(::mkfifo(fifo.c_str(), 0600), 0);
    QCOMPARE(faults_of(fifo), std::string("device_profile 0 "));
    qputenv("SHARDSCOPE_PROFILE", QByteArray::fromStdString(directory));
    QVERIFY_EXCEPTION_THROWN(host_profile(), Failure);
    QVERIFY(standard_profile().cores >= 1);
    const std::string below_a_file = folder.filePath("file/profile.json").toStdString();
    std::ofstream(folder.filePath("file").toStdString()) << "x";
    qputenv("SHARDSCOPE_PROFILE", QByteArray::fromStdString(below_a_file));
    QVERIFY(host_profile() == standard_profile());
    qunsetenv("SHARDSCOPE_PROFILE");
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

REGISTER_TEST(DeviceProfileTest)

}  // namespace device_profile_test

#include "device_profile_test.moc"
