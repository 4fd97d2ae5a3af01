#include "engine/session/session_directory.h"

#include <QTemporaryDir>
#include <QtTest>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "engine/base/error.h"

using namespace shardscope;

namespace {

namespace fs = std::filesystem;

// $TMPDIR for as long as it lives.
struct Base {
  QTemporaryDir folder;
  QByteArray before = qgetenv("TMPDIR");
  Base() { qputenv("TMPDIR", folder.path().toUtf8()); }
  ~Base() { qputenv("TMPDIR", before); }
  fs::path make(const std::string& name, bool with_lock) const {
    const fs::path path = folder.filePath(QString::fromStdString(name)).toStdString();
    fs::create_directory(path);
    if (with_lock) std::ofstream(path / "lock");
    return path;
  }
};

}  // namespace

class SessionDirectoryTest : public QObject {
  Q_OBJECT

 private slots:
  void it_lasts_as_long_as_its_owner() {
    const Base base;
    fs::path path;
    {
      const SessionDirectory directory;
      path = directory.path();
      QVERIFY(fs::is_regular_file(path / "lock"));
      const SessionDirectory next;
      QVERIFY(fs::exists(path) && next.path() != path);
    }
    QVERIFY(!fs::exists(path));
    QVERIFY(fs::is_empty(base.folder.path().toStdString()));
  }

  void what_killed_owners_left_goes_with_the_next_start() {
    const Base base;
    const fs::path unlocked = base.make("shardscope-run-abcdef", true),
                   without_lock = base.make("shardscope-run-ghijkl", false);
    const fs::path foreign = base.make("shardscope-other", true);
    const SessionDirectory directory;
    QVERIFY(!fs::exists(unlocked) && !fs::exists(without_lock) && fs::exists(foreign));
  }

  void one_that_is_only_being_made_is_not_taken_for_abandoned() {
    const Base base;
    const fs::path empty = base.make("shardscope-new-abcdef", false),
                   unlocked = base.make("shardscope-new-ghijkl", true);
    const fs::path old = base.make("shardscope-new-mnopqr", false);
    fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(1));
    const SessionDirectory directory;
    QVERIFY(fs::exists(empty) && fs::exists(unlocked) && !fs::exists(old));
  }

  void many_starts_at_once_all_keep_theirs() {
    const Base base;
    std::mutex mutex;
    std::string lost;
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 8; ++thread) {
      threads.emplace_back([&] {
        for (int i = 0; i < 100; ++i) {
          try {
            const SessionDirectory directory;
            if (fs::exists(fs::path(directory.path()) / "lock")) continue;
            const std::lock_guard lock(mutex);
            lost = directory.path();
          } catch (const Failure& failure) {
            const std::lock_guard lock(mutex);
            lost = failure.what();
          }
        }
      });
    }
    threads.clear();
    QCOMPARE(lost, std::string());
    QVERIFY(fs::is_empty(base.folder.path().toStdString()));
  }

  void it_is_gone_with_its_owner_whoever_else_starts() {
    const Base base;
    std::atomic<bool> goes_on = true;
    const std::jthread other([&] {
      while (goes_on) const SessionDirectory directory;
    });
    for (int i = 0; i < 300; ++i) {
      std::string name;
      {
        const SessionDirectory directory;
        name = directory.path();
        for (int file = 0; file < 20; ++file) std::ofstream(name + "/" + std::to_string(file)) << file;
      }
      const std::string suffix = name.substr(name.size() - 6);
      for (const auto& left : fs::directory_iterator(base.folder.path().toStdString())) {
        if (left.path().string().ends_with(suffix)) goes_on = false;
      }
      QVERIFY2(goes_on, name.c_str());
    }
    goes_on = false;
  }

  void a_base_that_is_no_place_is_an_error_that_names_it() {
    const Base base;
    for (const QString& wrong : {QString("/no/such/folder"), QString("/dev/null"), QString("/proc")}) {
      qputenv("TMPDIR", wrong.toUtf8());
      try {
        const SessionDirectory directory;
        QFAIL("made");
      } catch (const Failure& failure) {
        QCOMPARE(failure.errors()[0].code, std::string("session_directory"));
        QCOMPARE(failure.errors()[0].place.file, wrong.toStdString());
      }
    }
  }
};

QTEST_APPLESS_MAIN(SessionDirectoryTest)
#include "session_directory_test.moc"
