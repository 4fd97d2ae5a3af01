#include "engine/session/session_directory.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <QTemporaryDir>
#include <QtTest>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "engine/base/error.h"
#include "tests/test_program.h"

namespace session_directory_test {

using namespace shardscope;

namespace {

namespace fs = std::filesystem;

// $TMPDIR for as long as it lives.
struct Base {
  QTemporaryDir folder;
  QByteArray before = qgetenv("TMPDIR");
  Base() { qputenv("TMPDIR", folder.path().toUtf8()); }
  ~Base() { qputenv("TMPDIR", before); }
  fs::path path(const std::string& name) const { return folder.filePath(QString::fromStdString(name)).toStdString(); }
  // Of the user, with something in it.
  fs::path make(const std::string& name, bool with_lock) const {
    fs::create_directory(path(name));
    std::ofstream(path(name) / "thesis") << "mine";
    if (with_lock) std::ofstream(path(name) / "lock") << "mine";
    return path(name);
  }
};

// The directory of an owner that was killed.
fs::path abandon_one() {
  int said[2];
  if (::pipe(said) != 0) qFatal("no pipe");
  const int owner = ::fork();
  if (owner == 0) {
    const SessionDirectory directory;
    std::ofstream(directory.path() + "/file") << "x";
    fs::create_directories(directory.path() + "/tmp/deep");
    if (::write(said[1], directory.path().data(), directory.path().size()) > 0) ::raise(SIGKILL);
    ::_exit(1);
  }
  ::close(said[1]);
  char path[1000] = "";
  const bool is_said = ::read(said[0], path, sizeof path - 1) > 0;
  ::close(said[0]);
  int status = 0;
  if (!is_said || ::waitpid(owner, &status, 0) != owner || !WIFSIGNALED(status)) qFatal("no owner that was killed");
  return path;
}

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

  void what_a_killed_owner_has_left_goes_with_the_next_start() {
    const Base base;
    const fs::path left = abandon_one();
    QVERIFY(fs::exists(left / "tmp/deep"));
    const SessionDirectory directory;
    QVERIFY(!fs::exists(left));
  }

  void folders_of_the_user_stay_whatever_their_names() {
    const Base base;
    for (const char* name : {"shardscope-run-abcdef", "shardscope-run-", "shardscope-new-abcdef", "shardscope-other"}) {
      for (bool with_lock : {false, true}) base.make(name + std::string(with_lock ? "1" : "2"), with_lock);
    }
    for (const auto& folder : fs::directory_iterator(base.path(".")))
      fs::last_write_time(folder.path(), fs::file_time_type::clock::now() - std::chrono::hours(1000));
    { const SessionDirectory directory; }
    size_t count = 0;
    for (const auto& folder : fs::directory_iterator(base.path("."))) {
      QVERIFY2(fs::exists(folder.path() / "thesis"), folder.path().c_str());
      ++count;
    }
    QCOMPARE(count, size_t{8});
  }

  void a_copy_of_a_session_and_one_that_was_renamed_stay() {
    const Base base;
    const fs::path copied = abandon_one(), copy = base.path("shardscope-run-copied");
    fs::copy(copied, copy, fs::copy_options::recursive);
    { const SessionDirectory directory; }
    QVERIFY(!fs::exists(copied) && fs::exists(copy / "file"));
    const fs::path renamed = abandon_one(), name = base.path("shardscope-run-kept00");
    fs::rename(renamed, name);
    { const SessionDirectory directory; }
    QVERIFY(fs::exists(name / "file"));
  }

  void symbolic_links_are_not_followed() {
    const Base base;
    const fs::path archive = base.make("archive", false), linked = abandon_one(), elsewhere = base.path("elsewhere");
    fs::rename(linked, elsewhere);
    fs::create_directory_symlink(elsewhere, linked);
    const fs::path left = abandon_one();
    fs::create_directory_symlink(archive, left / "tmp/link");
    fs::create_directory_symlink(archive, left / "link");
    { const SessionDirectory directory; }
    QVERIFY(!fs::exists(left));
    QVERIFY(fs::exists(archive / "thesis") && fs::exists(elsewhere / "file") && fs::is_symlink(linked));
  }

  void what_takes_its_place_during_a_run_is_left_as_it_is() {
    for (bool by_a_link : {true, false}) {
      const Base base;
      const fs::path archive = base.make("archive", true), aside = base.path("aside");
      fs::path taken;
      {
        const SessionDirectory directory;
        taken = directory.path();
        std::ofstream(taken / "file") << "x";
        fs::rename(taken, aside);
        if (by_a_link) fs::create_directory_symlink(archive, taken);
        else fs::rename(archive, taken);
      }
      QVERIFY(fs::exists(taken / "thesis") && fs::exists(taken / "lock") && fs::exists(aside / "file"));
      { const SessionDirectory next; }
      QVERIFY(fs::exists(taken / "thesis") && fs::exists(taken / "lock") && fs::exists(aside / "file"));
    }
  }

  // A lock that links to the marker of another session says nothing of this folder.
  void a_marker_behind_a_link_is_none() {
    const Base base;
    const fs::path mine = base.make("shardscope-run-linked", false);
    fs::create_symlink(abandon_one() / "lock", mine / "lock");
    { const SessionDirectory directory; }
    QVERIFY(fs::exists(mine / "thesis"));
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

  void a_limit_of_file_sizes_is_named_as_such() {
    const Base base;
    rlimit before{};
    QCOMPARE(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit none{0, before.rlim_max};
    QCOMPARE(::setrlimit(RLIMIT_FSIZE, &none), 0);
    std::string text;
    try {
      const SessionDirectory directory;
    } catch (const Failure& failure) {
      text = to_string(failure.errors().front());
    }
    ::setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    QVERIFY2(text.find("the file size limit is 0 KiB (ulimit -f unlimited)") != std::string::npos, text.c_str());
    QVERIFY(fs::is_empty(base.path("")));
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

REGISTER_TEST(SessionDirectoryTest)

}  // namespace session_directory_test

#include "session_directory_test.moc"
