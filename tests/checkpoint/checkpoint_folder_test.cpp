#include "engine/checkpoint/checkpoint_folder.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <QDir>
#include <QTemporaryDir>
#include <QtTest>
#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>

#include "tests/base/child_status.h"
#include "tests/checkpoint/made_checkpoint.h"
#include "tests/test_program.h"

namespace checkpoint_folder_test {

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

  std::vector<std::string> reports;

  CheckpointFolder::Report report() {
    return [this](const std::string& text) { reports.push_back(text); };
  }
  bool was_reported(const std::string& text) const {
    return std::ranges::any_of(reports, [&](const std::string& line) { return line.find(text) != std::string::npos; });
  }
  QStringList names() const { return names_in(folder.path()); }

  // `complete` is given each step whose checkpoint is.
  void run(const FileCalls& calls, int64_t from, int64_t to, int64_t* complete = nullptr) {
    CheckpointFolder checkpoints(path, calls, report());
    checkpoints.continue_from(from == 1 ? std::nullopt : std::optional(from - 1), {});
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
    int reported = 0;
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
        CheckpointFolder folder(saves.path, calls, saves.report());
        const Error thrown = error_of([&] { make_checkpoint(folder, saves.path, calls, small_states(), two, 3, 2); });
        if (at.empty()) break;
        const std::vector<FoundCheckpoint> found = list_checkpoints(saves.path);
        if (found.back().step == 3) {  // it is on the disk: what fails now is the removal of an old one
          const bool is_sync = thrown.place.file == saves.path;
          QVERIFY(is_sync || (thrown.code.empty() && saves.was_reported(at) && ++reported > 0));
        } else {
          QCOMPARE(thrown.code, std::string("unwritable_checkpoint"));
          QCOMPARE(thrown.place.file, at);
          QVERIFY(thrown.message.find(std::strerror(error)) != std::string::npos);
        }
        folder.abandon(3);
        QVERIFY(found.size() >= 2);
        for (const FoundCheckpoint& one : found) QVERIFY(values_in(one.path) == made_values(small_states(), one.step));
        QVERIFY(saves.names().filter(".part").isEmpty());
        // The next checkpoint removes what could not be removed then.
        make_checkpoint(folder, saves.path, calls, small_states(), two, 4, 1);
        QCOMPARE(saves.names(), QStringList{"step_000004"});
      }
    }
    QVERIFY(reported > 10);
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
    write_checkpoint_file(watched, HeldFolder(folder.path().toStdString(), unwritable_checkpoint), 1, "file", image,
                          {});
    QCOMPARE(std::ranges::count(calls, "fsync"), std::ptrdiff_t{2});
  }

  void two_runs_never_write_into_one_folder() {
    Saves saves;
    const FileCalls calls;
    constexpr std::chrono::milliseconds none{0};
    {
      CheckpointFolder one(saves.path, calls);
      const Error error = error_of([&] { CheckpointFolder other(saves.path, calls, {}, none); });
      QCOMPARE(error.code, std::string("checkpoint_in_use"));
      QCOMPARE(error.place.file, saves.path);
    }
    CheckpointFolder again(saves.path, calls, {}, none);
  }

  void the_end_of_a_dying_writer_is_waited_for() {
    Saves saves;
    int ready[2];
    QVERIFY(::pipe(ready) == 0);
    const pid_t writer = ::fork();
    if (writer == 0) {
      const FileCalls calls;
      const CheckpointFolder folder(saves.path, calls);
      if (::write(ready[1], "x", 1) == 1) ::pause();
      ::_exit(0);
    }
    char byte = 0;
    QCOMPARE(::read(ready[0], &byte, 1), ssize_t{1});
    const FileCalls calls;
    int waits = 0;
    const CheckpointFolder folder(
        saves.path, calls,
        [&](const std::string& text) {
          waits += text.find("waiting") != std::string::npos;
          ::kill(writer, SIGKILL);
        },
        std::chrono::minutes(5));
    QCOMPARE(waits, 1);
    int status = 0;
    QCOMPARE(::waitpid(writer, &status, 0), writer);
    ::close(ready[0]);
    ::close(ready[1]);
  }

  void a_folder_that_was_moved_is_written_to_no_more_and_the_one_in_its_place_never() {
    Saves saves;
    const FileCalls calls;
    const std::string path = saves.path + "/ck", moved = saves.path + "/ck_old";
    CheckpointFolder first(path, calls);
    make_checkpoint(first, path, calls, small_states(), two, 1, 1);
    std::filesystem::rename(path, moved);
    for (const bool is_replaced : {false, true}) {
      std::optional<CheckpointFolder> second;
      if (is_replaced) {
        second.emplace(path, calls);
        for (int64_t step : {1, 2}) make_checkpoint(*second, path, calls, small_states(), two, step);
      }
      const Error error = error_of([&] { make_checkpoint(first, path, calls, small_states(), two, 2, 1); });
      QCOMPARE(error.code, std::string("checkpoint_folder_moved"));
      QCOMPARE(error.place.file, path);
      QVERIFY2(error.message.find(moved) != std::string::npos, error.message.c_str());
      QCOMPARE(error.message.find("another is in its place") != std::string::npos, is_replaced);
      first.abandon(2);
    }
    QCOMPARE(names_in(QString::fromStdString(path)), (QStringList{"step_000001", "step_000002"}));
    QCOMPARE(names_in(QString::fromStdString(moved)), QStringList{"step_000001"});
    for (int64_t step : {1, 2}) {
      QVERIFY(values_in(path + "/" + step_folder_name(step)) == made_values(small_states(), step));
    }
  }

  // Every rank has written its file, and rank 0 completes the checkpoint.
  void a_folder_that_is_moved_between_the_ranks_and_the_end_of_a_checkpoint_is_noticed() {
    Saves saves;
    const std::string path = saves.path + "/ck", moved = saves.path + "/ck_old";
    const FileCalls calls([&](std::string_view call, const std::string& at) {
      if (call == "close" && at.ends_with(index_file_name)) {
        std::filesystem::rename(path, moved);
        std::filesystem::create_directories(path + "/.step_000001.part");
      }
      return 0;
    });
    CheckpointFolder folder(path, calls);
    const Error error = error_of([&] { make_checkpoint(folder, path, calls, small_states(), two, 1); });
    QCOMPARE(error.code, std::string("checkpoint_folder_moved"));
    QCOMPARE(names_in(QString::fromStdString(path)), QStringList{".step_000001.part"});
    QVERIFY(list_checkpoints(moved).empty());
  }

  void a_folder_that_was_removed_ends_the_run() {
    Saves saves;
    const FileCalls calls;
    const std::string path = saves.path + "/ck";
    CheckpointFolder folder(path, calls);
    std::filesystem::remove(path);
    const Error error = error_of([&] { make_checkpoint(folder, path, calls, small_states(), two, 1); });
    QCOMPARE(error.code, std::string("checkpoint_folder_moved"));
    QVERIFY2(error.message.find("removed") != std::string::npos, error.message.c_str());
    QVERIFY(!std::filesystem::exists(path));
  }

  void a_checkpoint_is_no_folder_for_checkpoints() {
    Saves saves;
    saves.run(FileCalls(), 1, 2);
    const FileCalls calls;
    const std::string copy = saves.path + "/best", link = saves.path + "/link";
    std::filesystem::copy(saves.path + "/step_000002", copy);
    std::filesystem::create_directory_symlink(saves.path + "/step_000002", link);
    for (const std::string& path :
         {saves.path + "/step_000001", saves.path + "/step_000001/", saves.path + "/step_000020",
          saves.path + "/step_000001/inside/more", copy, copy + "/inside", link, saves.path + "/.step_000003.part",
          saves.path + "/x/../step_000001"}) {
      const QStringList before = saves.names();
      const Error error = error_of([&] { CheckpointFolder folder(path, calls); });
      QVERIFY2(error.code == "bad_checkpoint_folder", path.c_str());
      QVERIFY2(error.hint.find(saves.path) != std::string::npos, error.hint.c_str());
      QCOMPARE(saves.names(), before);
    }
    for (const char* path : {"/step_1", "/steps/step_x", "/run.step_000001"}) {
      CheckpointFolder folder(saves.path + path, calls);
    }
  }

  void what_the_program_did_not_write_stays_where_an_old_checkpoint_is_removed() {
    Saves saves, archive;
    put_text(archive.path + "/file", "theirs");
    const std::string first = saves.path + "/step_000001", second = saves.path + "/step_000002";
    saves.run(FileCalls(), 1, 2);
    std::filesystem::create_directories(first + "/stray/deep");
    put_text(first + "/stray/deep/file", "kept");
    put_text(second + "/notes.txt", "kept too");
    std::filesystem::create_symlink(saves.path, second + "/link");
    std::filesystem::create_symlink(archive.path + "/file", second + "/rank_00009.safetensors");
    saves.run(FileCalls(), 3, 5);
    QCOMPARE(saves.names(), (QStringList{"step_000001.left", "step_000002.left", "step_000004", "step_000005"}));
    QCOMPARE(names_in(saves.folder.filePath("step_000001.left")), QStringList{"stray"});
    QCOMPARE(text_of(first + ".left/stray/deep/file"), std::string("kept"));
    QCOMPARE(names_in(saves.folder.filePath("step_000002.left")),
             (QStringList{"link", "notes.txt", "rank_00009.safetensors"}));
    QCOMPARE(text_of(second + ".left/notes.txt"), std::string("kept too"));
    QCOMPARE(text_of(second + ".left/rank_00009.safetensors"), std::string("theirs"));
    QVERIFY(saves.was_reported("step_000001.left: kept") && saves.was_reported("notes.txt"));
    QCOMPARE(saves.reports.size(), size_t{2});
  }

  void links_in_a_folder_of_checkpoints_are_not_followed() {
    Saves saves, archive;
    archive.run(FileCalls(), 1, 2);
    put_text(archive.path + "/step_000002/notes.txt", "kept");
    const auto link = [&](const char* name) {
      std::filesystem::create_directory_symlink(archive.path + "/step_000002", saves.path + "/" + name);
    };
    link("step_000001");
    link(".step_000007.part");
    link(".step_000003.gone");
    saves.run(FileCalls(), 2, 5);
    QCOMPARE(saves.names(),
             (QStringList{"step_000001", "step_000003.left", "step_000004", "step_000005", "step_000007.left"}));
    QVERIFY(values_in(saves.path + "/step_000001") == made_values(small_states(), 2));
    QCOMPARE(names_in(archive.folder.path()), (QStringList{"step_000001", "step_000002"}));
    QVERIFY(values_in(archive.path + "/step_000002") == made_values(small_states(), 2));
    QCOMPARE(text_of(archive.path + "/step_000002/notes.txt"), std::string("kept"));
    // One that comes to be where the next checkpoint is about to is an error at its place.
    const FileCalls calls;
    CheckpointFolder folder(saves.path, calls);
    link(".step_000006.part");
    const Error error = error_of([&] { make_checkpoint(folder, saves.path, calls, small_states(), two, 6); });
    QCOMPARE(error.code, std::string("unwritable_checkpoint"));
    QCOMPARE(error.place.file, saves.path + "/.step_000006.part");
    QVERIFY(values_in(archive.path + "/step_000002") == made_values(small_states(), 2));
  }

  // A user may have linked a file of a checkpoint to another place; in a new one it is another file.
  void a_file_with_other_names_is_replaced_not_written_to() {
    Saves saves;
    const FileCalls calls;
    const HeldFolder held(saves.path, unwritable_checkpoint);
    put_text(saves.path + "/theirs", "kept");
    std::filesystem::create_directory(saves.path + "/.step_000001.part");
    std::filesystem::create_hard_link(saves.path + "/theirs", saves.path + "/.step_000001.part/file");
    const std::vector<std::byte> image(8);
    write_checkpoint_file(calls, held, 1, "file", image, {});
    QCOMPARE(text_of(saves.path + "/theirs"), std::string("kept"));
    QCOMPARE(std::filesystem::file_size(saves.path + "/.step_000001.part/file"), uintmax_t{8});
  }

  void a_removal_that_fails_is_reported_once_and_ends_nothing() {
    Saves saves;
    bool fails = true;
    const FileCalls calls([&](std::string_view call, const std::string& path) {
      return fails && call == "unlink" && path.find("/.step_000001.gone/") != std::string::npos ? EBUSY : 0;
    });
    saves.run(calls, 1, 5);
    QCOMPARE(saves.names(), (QStringList{".step_000001.gone", "step_000004", "step_000005"}));
    QCOMPARE(saves.reports.size(), size_t{1});
    QVERIFY2(saves.was_reported(".step_000001.gone/") && saves.was_reported("tried again"), saves.reports[0].c_str());
    saves.run(calls, 6, 6);  // another run begins all the same
    QCOMPARE(saves.names(), (QStringList{".step_000001.gone", "step_000005", "step_000006"}));
    fails = false;
    saves.run(calls, 7, 7);
    QCOMPARE(saves.names(), (QStringList{"step_000006", "step_000007"}));
  }

  void what_nfs_keeps_for_a_process_goes_when_that_ends() {
    Saves saves;
    saves.run(FileCalls(), 1, 2);
    const std::string held = "/.nfs00000000012f00010000002a";
    put_text(saves.path + "/step_000001" + held, "");
    saves.run(FileCalls(), 3, 4);
    QCOMPARE(saves.names(), (QStringList{".step_000001.gone", "step_000003", "step_000004"}));
    QVERIFY(saves.was_reported("open") && saves.reports.size() == 1);
    std::filesystem::remove(saves.path + "/.step_000001.gone" + held);
    saves.run(FileCalls(), 5, 5);
    QCOMPARE(saves.names(), (QStringList{"step_000004", "step_000005"}));
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
    QCOMPARE(error_of([&] { folder.continue_from(std::nullopt, {}); }).code, std::string("checkpoint_exists"));
    const Error newer = error_of([&] { folder.continue_from(1, {}); });
    QCOMPARE(newer.code, std::string("checkpoint_exists"));
    QCOMPARE(newer.place.file, saves.path + "/step_000002");
    folder.continue_from(2, {});
  }

  void damaged_ones_that_are_newer_are_put_aside() {
    Saves saves;
    saves.run(FileCalls(), 1, 2);
    const FileCalls calls;
    for (const QStringList& left : {QStringList{"step_000001", "step_000002.damaged"},
                                    QStringList{"step_000001", "step_000002.damaged", "step_000002.damaged_2"}}) {
      CheckpointFolder folder(saves.path, calls);
      if (left.size() > 2) make_checkpoint(folder, saves.path, calls, small_states(), two, 2);
      folder.continue_from(1, {2});
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

REGISTER_TEST(CheckpointFolderTest)

}  // namespace checkpoint_folder_test

#include "checkpoint_folder_test.moc"
