#include "engine/checkpoint/checkpoint_folder.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <QDir>
#include <QTemporaryDir>
#include <QtTest>
#include <filesystem>
#include <functional>

#include "tests/base/child_status.h"
#include "tests/checkpoint/made_checkpoint.h"

using namespace shardscope;
using namespace shardscope::test;

namespace {

const Mesh two({{"data", 2}});

std::vector<StoredState> small_states() {
  Sharding rows = Sharding::replicated(2);
  rows.dims[0].push_back(0);
  return {{"params/w", {{4, 3}, DType::f32}, rows, true},
          {"params/b", {{3}, DType::f32}, Sharding::replicated(1), true}};
}

QStringList names_in(const QString& path) {
  return QDir(path).entryList(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot);
}

// A folder of checkpoints in which a run saves steps 1, 2, ..., keeping two.
struct Saves {
  QTemporaryDir folder{scratch()};
  std::string path = folder.path().toStdString();

  // `complete` is told each step whose checkpoint is.
  void run(const FileCalls& calls, int64_t from, int64_t to, int64_t* complete = nullptr) const {
    CheckpointFolder checkpoints(path, calls);
    checkpoints.go_on_from(from == 1 ? std::nullopt : std::optional(from - 1), {});
    for (int64_t step = from; step <= to; ++step) {
      make_checkpoint(checkpoints, path, calls, small_states(), two, step, 2);
      if (complete) *complete = step;
    }
  }
};

}  // namespace

class CheckpointFolderTest : public QObject {
  Q_OBJECT

 private slots:
  void the_newest_remain_and_nothing_else() {
    Saves saves;
    saves.run(FileCalls(), 1, 5);
    QCOMPARE(names_in(saves.folder.path()), (QStringList{"step_000004", "step_000005"}));
    const std::vector<FoundCheckpoint> found = list_checkpoints(saves.path);
    QCOMPARE(found.size(), size_t{2});
    QCOMPARE(found[0].step, int64_t{4});
    QCOMPARE(found[1].path, saves.path + "/step_000005");
    QVERIFY(values_in(found[1].path) == made_values(small_states(), 5));
    QVERIFY(is_checkpoint(found[1].path + "/") && !is_checkpoint(saves.path));
    QCOMPARE(folder_of(found[1].path + "/"), saves.path);
    QVERIFY(list_checkpoints(saves.path + "/none").empty());
  }

  void a_process_killed_before_any_system_call_loses_nothing_and_leaves_nothing() {
    constexpr int64_t last = 4;
    int calls_made = 0;
    Saves whole;
    whole.run(FileCalls([&](std::string_view, const std::string&) { return ++calls_made, 0; }), 1, last);
    QVERIFY2(calls_made > 60, qPrintable(QString::number(calls_made)));
    void* shared = ::mmap(nullptr, sizeof(int64_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    auto* complete = static_cast<int64_t*>(shared);
    for (int fatal = 1; fatal <= calls_made; ++fatal) {
      Saves saves;
      int call_number = 0;
      *complete = 0;
      const int status = status_of([&] {
        saves.run(FileCalls([&](std::string_view, const std::string&) {
                    if (++call_number == fatal) ::kill(::getpid(), SIGKILL);
                    return 0;
                  }),
                  1, last, complete);
      });
      QVERIFY(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
      const std::vector<FoundCheckpoint> found = list_checkpoints(saves.path);
      for (const FoundCheckpoint& one : found) {
        QVERIFY2(values_in(one.path) == made_values(small_states(), one.step), one.path.c_str());
      }
      const int64_t newest = found.empty() ? 0 : found.back().step;
      QVERIFY(newest >= *complete);
      saves.run(FileCalls(), newest + 1, last + 1);
      QCOMPARE(names_in(saves.folder.path()), (QStringList{"step_000004", "step_000005"}));
      QVERIFY(values_in(saves.path + "/step_000005") == made_values(small_states(), 5));
    }
  }

  void a_call_that_fails_is_a_located_error_and_can_be_given_up() {
    for (int error : {ENOSPC, EROFS, EIO}) {
      for (int fatal = 1;; ++fatal) {
        Saves saves;
        saves.run(FileCalls(), 1, 2);
        int call_number = 0;
        std::string at;
        const FileCalls calls([&](std::string_view, const std::string& path) {
          if (++call_number != fatal) return 0;
          at = path;
          return error;
        });
        CheckpointFolder folder(saves.path, calls);
        const Error thrown = error_of([&] { make_checkpoint(folder, saves.path, calls, small_states(), two, 3, 2); });
        if (at.empty()) break;
        QCOMPARE(thrown.code, std::string("unwritable_checkpoint"));
        QCOMPARE(thrown.place.file, at);
        QVERIFY(thrown.message.find(std::strerror(error)) != std::string::npos);
        folder.abandon(3);
        const std::vector<FoundCheckpoint> found = list_checkpoints(saves.path);
        QVERIFY(found.size() >= 2);
        for (const FoundCheckpoint& one : found) QVERIFY(values_in(one.path) == made_values(small_states(), one.step));
        QVERIFY(names_in(saves.folder.path()).filter(".part").isEmpty());
      }
    }
  }

  // Else nobody could tell a slow disk from one that hangs.
  void a_large_file_gets_to_the_disk_piece_by_piece() {
    const QTemporaryDir folder(scratch());
    std::vector<std::string> calls;
    const FileCalls watched([&](std::string_view call, const std::string&) {
      calls.emplace_back(call);
      return 0;
    });
    const std::vector<std::byte> image(size_t{65} << 20);
    write_checkpoint_file(watched, folder.path().toStdString() + "/part", "file", image, {});
    QCOMPARE(std::ranges::count(calls, "fsync"), std::ptrdiff_t{2});
  }

  void two_runs_never_write_into_one_folder() {
    Saves saves;
    const FileCalls calls;
    {
      CheckpointFolder one(saves.path, calls);
      const Error error = error_of([&] { CheckpointFolder other(saves.path, calls); });
      QCOMPARE(error.code, std::string("checkpoint_in_use"));
      QCOMPARE(error.place.file, saves.path);
    }
    CheckpointFolder again(saves.path, calls);
  }

  void a_folder_is_made_with_those_above_it_and_one_that_cannot_be_is_named() {
    QTemporaryDir folder;
    const FileCalls calls;
    const std::string path = folder.filePath("a/b/c").toStdString();
    { CheckpointFolder made(path + "/", calls); }
    QVERIFY(std::filesystem::is_directory(path));
    const Error error = error_of([&] { CheckpointFolder none("/proc/nowhere/checkpoints", calls); });
    QCOMPARE(error.code, std::string("unwritable_checkpoint"));
    QVERIFY(error.place.file.starts_with("/proc/nowhere"));
  }

  void a_run_that_begins_takes_no_folder_of_another() {
    Saves saves;
    saves.run(FileCalls(), 1, 2);
    const FileCalls calls;
    CheckpointFolder folder(saves.path, calls);
    QCOMPARE(error_of([&] { folder.go_on_from(std::nullopt, {}); }).code, std::string("checkpoint_exists"));
    const Error newer = error_of([&] { folder.go_on_from(1, {}); });
    QCOMPARE(newer.code, std::string("checkpoint_exists"));
    QCOMPARE(newer.place.file, saves.path + "/step_000002");
    folder.go_on_from(2, {});
  }

  void damaged_ones_that_are_newer_are_put_aside() {
    Saves saves;
    saves.run(FileCalls(), 1, 2);
    const FileCalls calls;
    for (const QStringList& left : {QStringList{"step_000001", "step_000002.damaged"},
                                    QStringList{"step_000001", "step_000002.damaged", "step_000002.damaged_2"}}) {
      CheckpointFolder folder(saves.path, calls);
      if (left.size() > 2) make_checkpoint(folder, saves.path, calls, small_states(), two, 2);
      folder.go_on_from(1, {2});
      QCOMPARE(names_in(saves.folder.path()), left);
    }
  }

  void the_newest_whole_one_is_offered_for_a_damaged_one() {
    Saves saves;
    saves.run(FileCalls(), 1, 2);
    put_text(saves.path + "/step_000002/rank_00001.safetensors", "");
    QCOMPARE(newest_good_checkpoint(saves.path)->step, int64_t{1});
    QVERIFY(hint_for_damaged(saves.path + "/step_000002").find("step_000001") != std::string::npos);
    put_text(saves.path + "/step_000001/index.json", "");
    QVERIFY(!newest_good_checkpoint(saves.path));
    QVERIFY(hint_for_damaged(saves.path + "/step_000002").find("no whole") != std::string::npos);
  }
};

QTEST_APPLESS_MAIN(CheckpointFolderTest)
#include "checkpoint_folder_test.moc"
