#include "engine/worker/checkpointing.h"
#include "engine/machine/host_machine.h"

#include <sys/mount.h>
#include <unistd.h>

#include <QDir>
#include <QTemporaryDir>
#include <QtTest>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <numeric>
#include <thread>

#include "engine/checkpoint/array_file.h"
#include "engine/comm/rank_world.h"
#include "engine/worker/data_check.h"
#include "engine/worker/import_parameters.h"
#include "engine/worker/outside_memory.h"
#include "engine/worker/parameter_file.h"
#include "engine/worker/stored_states.h"
#include "tests/checkpoint/made_checkpoint.h"
#include "tests/comm/thread_ranks.h"
#include "tests/compile/system_preset.h"
#include "tests/test_program.h"
#include "tests/training/thread_training.h"

namespace checkpointing_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

const SystemPreset& small_preset() { return system_preset("tensor_parallel_mlp"); }

Plan small_plan(int64_t ranks = 2, const std::vector<std::string>& settings = {}) {
  std::vector<std::string> all = small_preset().small;
  all.insert(all.end(), settings.begin(), settings.end());
  return compile({system_run(small_preset().name, all, {ranks}), reference_host()});
}

struct Run {
  QTemporaryDir folder{scratch()};
  CheckpointOptions options;
  std::mutex mutex;
  std::vector<std::string> said;

  Run() {
    options.folder = path();
    options.save_every = 1;
    options.keep = 2;
    options.say = [this](const std::string& text) {
      const std::lock_guard lock(mutex);
      said.push_back(text);
    };
    options.note = options.say;
  }
  std::string path() const { return folder.path().toStdString(); }
  std::string step(int64_t number) const { return path() + "/" + step_folder_name(number); }
  QStringList names() const {
    return QDir(folder.path()).entryList(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot);
  }
  ThreadTraining train(const Plan& plan, int64_t steps) const {
    return train_in_threads(plan, steps, {}, {}, {}, options);
  }
  Error train_error(const Plan& plan, int64_t steps) const {
    return error_of([&] { train(plan, steps); });
  }
  bool was_said(const std::string& text) const {
    return std::ranges::any_of(said, [&](const std::string& line) { return line.find(text) != std::string::npos; });
  }
};

// A run on a text of its own, which is also what it evaluates with.
struct TextRun : Run {
  std::string text = path() + "/text.txt";

  TextRun() {
    options.folder = path() + "/saved";
    put_text(text, std::string(3000, 'a') + std::string(3000, 'b'));
  }
  Plan plan(const std::vector<std::string>& settings = {}) const {
    const SystemPreset& preset = system_preset("tiny_text");
    std::vector<std::string> all = preset.small;
    all.push_back("data.path=" + text);
    all.insert(all.end(), settings.begin(), settings.end());
    return compile({system_run(preset.name, all, {2, 1}), reference_host()});
  }
  std::string step_at(int64_t number) const { return options.folder + "/" + step_folder_name(number); }
};

// As versions wrote it that did not know the data.
void forget_data(const std::string& checkpoint) {
  const std::string file = checkpoint + "/index.json";
  CheckpointIndex index = parse_checkpoint_index(text_of(file), file);
  index.data.reset();
  put_text(file, write_checkpoint_index(index));
}

void flip_last_bit(const std::string& path) {
  std::string text = text_of(path);
  text.back() = static_cast<char>(text.back() ^ 1);
  put_text(path, text);
}

}  // namespace

class CheckpointingTest : public QObject {
  Q_OBJECT

 private slots:
  void the_newest_checkpoints_remain_and_the_end_is_kept_too() {
    Run run;
    run.train(small_plan(), 4);
    QCOMPARE(run.names(), (QStringList{"step_000003", "step_000004"}));
    Run other;
    other.options.save_every = 3;
    other.train(small_plan(), 5);
    QCOMPARE(other.names(), (QStringList{"step_000003", "step_000005"}));
    Run at_the_end;
    at_the_end.options.save_every = 0;
    at_the_end.train(small_plan(), 2);
    QCOMPARE(at_the_end.names(), (QStringList{"step_000002"}));
    const CheckpointIndex index = CheckpointReader(at_the_end.step(2)).index();
    QCOMPARE(index.model, std::string("tensor_parallel_mlp"));
    QCOMPARE(index.step, int64_t{2});
    QCOMPARE(index.mesh, std::string("Y 2"));
  }

  void a_run_that_is_stopped_keeps_where_it_ends() {
    Run run;
    run.options.save_every = 1000;
    std::stop_source stop;
    const ThreadTraining training = train_in_threads(
        small_plan(), 1000, stop.get_token(), [&](const StepMessage&) { stop.request_stop(); }, {}, run.options);
    const auto done = static_cast<int64_t>(training.steps.size());
    QVERIFY(done < 1000);
    QCOMPARE(run.names(), QStringList{QString::fromStdString(step_folder_name(done))});
  }

  void a_run_at_its_last_step_or_behind_it_has_nothing_left_to_do_and_says_so() {
    Run run;
    run.train(small_plan(), 2);
    run.options.resume = run.path();
    for (int64_t steps : {2, 1}) {
      run.said.clear();
      QVERIFY(run.train(small_plan(), steps).steps.empty());
      QCOMPARE(run.names(), (QStringList{"step_000001", "step_000002"}));
      QVERIFY(run.was_said(run.step(2) + ": there is nothing to do"));
      QVERIFY(run.was_said("2 steps are done") && run.was_said("the run asks for " + std::to_string(steps)));
      QVERIFY(!run.was_said("going on from"));
    }
    run.train(small_plan(), 3);
    QVERIFY(run.was_said("going on from " + run.step(2)));
  }

  void every_call_that_fails_ends_the_run_with_its_place_or_lets_it_continue() {
    const Plan plan = small_plan();
    for (bool keep_going : {false, true}) {
      for (int fatal = 1;; ++fatal) {
        Run run;
        run.options.continue_after_error = keep_going;
        run.options.keep = 1;
        std::atomic<int> number = 0;
        std::string at;
        run.options.before_call = [&](std::string_view, const std::string& path) {
          if (++number != fatal) return 0;
          at = path;
          return ENOSPC;
        };
        const Error error = run.train_error(plan, 2);
        if (at.empty()) break;
        for (const FoundCheckpoint& found : list_checkpoints(run.path())) CheckpointReader(found.path).verify();
        // An old one, when the new one is on the disk.
        const bool removes = at == run.step(1) || at.find(".gone") != std::string::npos;
        if (removes) {
          QCOMPARE(error.code, std::string());
          QVERIFY(run.was_said(at) && run.was_said("not removed yet"));
          QCOMPARE(list_checkpoints(run.path()).back().step, int64_t{2});
        } else if (keep_going) {
          QCOMPARE(error.code, std::string());
          QVERIFY(run.was_said(at) && run.was_said("No space left on device"));
          QCOMPARE(list_checkpoints(run.path()).back().step, int64_t{2});
        } else {
          QCOMPARE(error.code, std::string("unwritable_checkpoint"));
          QCOMPARE(error.place.file, at);
        }
        QVERIFY2(run.names().filter(".part").isEmpty(), qPrintable(run.names().join(' ')));
        // The next run leaves nothing behind.
        run.options.before_call = {};
        if (!list_checkpoints(run.path()).empty()) run.options.resume = run.path();
        run.train(plan, 3);
        QCOMPARE(run.names(), QStringList{"step_000003"});
      }
    }
  }

  void a_run_that_goes_on_without_checkpoints_fails_where_its_end_is_in_none_data() {
    QTest::addColumn<QString>("lost");
    QTest::addColumn<QString>("words");
    QTest::newRow("the end") << "/.step_000003.part"
                             << "the newest is step_000002";
    QTest::newRow("every one") << "/.step_"
                               << "there is none";
    QTest::newRow("one before") << "/.step_000002.part"
                                << "";
  }

  void a_run_that_goes_on_without_checkpoints_fails_where_its_end_is_in_none() {
    QFETCH(QString, lost);
    QFETCH(QString, words);
    Run run;
    run.options.continue_after_error = true;
    run.options.before_call = [&](std::string_view call, const std::string& path) {
      return call == "write" && path.find(lost.toStdString()) != std::string::npos ? ENOSPC : 0;
    };
    const Plan plan = small_plan();
    const std::string parameters = run.path() + "/parameters";
    std::ofstream(parameters) << "";
    std::filesystem::resize_file(parameters, static_cast<uintmax_t>(parameter_layout(plan).bytes()));
    const Error error = error_of([&] { train_in_threads(plan, 3, {}, {}, parameters, run.options); });
    QCOMPARE(error.code, std::string(words.isEmpty() ? "" : "unwritable_checkpoint"));
    const QString message = QString::fromStdString(error.message);
    if (!words.isEmpty())
      QVERIFY2(message.endsWith("; the end of the run is in no checkpoint, " + words), qPrintable(message));
    QVERIFY(is_whole_array_file(parameters));
    const auto goes_on = [](const std::string& line) { return line.find("training goes on") != std::string::npos; };
    QVERIFY(std::ranges::none_of(
        run.said, [&](const std::string& line) { return goes_on(line) && line.starts_with("step_000003"); }));
    QCOMPARE(std::ranges::any_of(run.said, goes_on), lost == "/.step_");
  }

  void a_folder_that_is_moved_ends_the_run_and_the_one_in_its_place_is_not_touched_data() {
    QTest::addColumn<bool>("goes_on");
    QTest::newRow("errors end the run") << false;
    QTest::newRow("other errors do not") << true;
  }

  void a_folder_that_is_moved_ends_the_run_and_the_one_in_its_place_is_not_touched() {
    QFETCH(bool, goes_on);
    Run run;
    run.options.continue_after_error = goes_on;
    const std::string path = run.path() + "/ck", moved = run.path() + "/ck_old";
    run.options.folder = path;
    run.options.keep = 1;
    const Error error = error_of([&] {
      train_in_threads(
          small_plan(), 1000, {},
          [&](const StepMessage& step) {
            if (step.step != 2) return;
            std::filesystem::rename(path, moved);
            CheckpointOptions others = run.options;
            others.keep = 2;
            train_in_threads(small_plan(), 2, {}, {}, {}, others);
          },
          {}, run.options);
    });
    QCOMPARE(error.code, std::string("checkpoint_folder_moved"));
    QCOMPARE(error.place.file, path);
    QVERIFY2(error.message.find("moved to " + moved) != std::string::npos, error.message.c_str());
    for (const char* name : {"step_000001", "step_000002"}) CheckpointReader(path + "/" + name).verify();
    QCOMPARE(QDir(QString::fromStdString(path)).entryList(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot),
             (QStringList{"step_000001", "step_000002"}));
    const std::vector<FoundCheckpoint> left = list_checkpoints(moved);
    QVERIFY(!left.empty());
    for (const FoundCheckpoint& found : left) CheckpointReader(found.path).verify();
  }

  void all_ranks_write_into_the_folder_that_rank_0_holds() {
    Run run;
    const std::string path = run.path() + "/ck", moved = run.path() + "/ck_old";
    run.options.folder = path;
    std::filesystem::create_directories(path + "/.step_000001.gone");
    run.options.before_call = [&](std::string_view call, const std::string& at) {
      if (call == "rmdir" && at == path + "/.step_000001.gone") {  // rank 0 has opened it, no other rank has
        std::filesystem::rename(path, moved);
        std::filesystem::create_directory(path);
      }
      return 0;
    };
    bool stepped = false;
    const Error error = error_of([&] {
      train_in_threads(
          small_plan(), 2, {}, [&](const StepMessage&) { stepped = true; }, {}, run.options);
    });
    QCOMPARE(error.code, std::string("checkpoint_folder_moved"));
    QVERIFY2(error.message.find("rank 0") != std::string::npos, error.message.c_str());
    QVERIFY(!stepped && std::filesystem::is_empty(path) && std::filesystem::is_empty(moved));
  }

  void a_folder_in_a_checkpoint_of_another_run_is_refused_before_the_first_step() {
    Run run;
    run.train(small_plan(), 1);
    for (const std::string& path : {run.step(1), run.step(1) + "/inside", run.step(20)}) {
      CheckpointOptions options = run.options;
      options.folder = path;
      const Error error = error_of([&] { check_checkpoints(small_plan(), options, {}); });
      QCOMPARE(error.code, std::string("bad_checkpoint_folder"));
      QCOMPARE(error_of([&] { train_in_threads(small_plan(), 1, {}, {}, {}, options); }), error);
    }
    QCOMPARE(run.names(), QStringList{"step_000001"});
  }

  void what_a_user_put_into_an_old_checkpoint_neither_ends_the_run_nor_is_lost() {
    Run run;
    run.train(small_plan(), 2);
    std::filesystem::create_directories(run.step(1) + "/stray");
    put_text(run.step(1) + "/stray/notes", "kept");
    run.options.resume = run.path();
    QCOMPARE(run.train(small_plan(), 4).steps.size(), size_t{2});
    QCOMPARE(run.names(), (QStringList{"step_000001.left", "step_000003", "step_000004"}));
    QCOMPARE(text_of(run.step(1) + ".left/stray/notes"), std::string("kept"));
    QVERIFY(run.was_said("step_000001.left: kept") && run.was_said("stray"));
  }

  void a_full_disk_is_said_and_costs_no_checkpoint_that_was_whole() {
    if (::geteuid() != 0) QSKIP("mounting a small file system needs root");
    QTemporaryDir place;
    const std::string disk = place.path().toStdString();
    if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=64k") != 0)
      QSKIP("a small file system cannot be mounted here");
    Run run;
    run.options.folder = disk;
    run.options.keep = 100;
    const Error stopped = run.train_error(small_plan(), 100);
    const std::vector<FoundCheckpoint> found = list_checkpoints(disk);
    std::vector<std::string> wrong;
    for (const FoundCheckpoint& one : found) {
      const Error error = error_of([&] { CheckpointReader(one.path).verify(); });
      if (!error.code.empty()) wrong.push_back(one.path);
    }
    ::umount(disk.c_str());
    QCOMPARE(stopped.code, std::string("unwritable_checkpoint"));
    QVERIFY(stopped.place.file.starts_with(disk));
    QVERIFY(stopped.message.find("No space left on device") != std::string::npos);
    QVERIFY(!found.empty() && wrong.empty());
  }

  void a_folder_that_cannot_be_written_is_known_before_the_first_step() {
    Run run;
    run.options.folder = "/proc/nowhere";
    bool stepped = false;
    const Error error = error_of([&] {
      train_in_threads(
          small_plan(), 1, {}, [&](const StepMessage&) { stepped = true; }, {}, run.options);
    });
    QCOMPARE(error.code, std::string("unwritable_checkpoint"));
    QCOMPARE(error.place.file, std::string("/proc/nowhere"));
    QVERIFY(!stepped);
    QCOMPARE(error_of([&] { check_checkpoints(small_plan(), run.options, {}); }), error);
  }

  void a_second_run_does_not_write_over_the_first() {
    Run run;
    run.train(small_plan(), 2);
    const Error error = run.train_error(small_plan(), 2);
    QCOMPARE(error.code, std::string("checkpoint_exists"));
    QCOMPARE(error_of([&] { check_checkpoints(small_plan(), run.options, {}); }), error);
    run.options.resume = run.step(1);
    QCOMPARE(run.train_error(small_plan(), 2).place.file, run.step(2));
    QCOMPARE(run.names(), (QStringList{"step_000001", "step_000002"}));
  }

  void a_damaged_checkpoint_is_named_and_the_last_whole_one_offered() {
    Run run;
    run.train(small_plan(), 2);
    const std::string file = run.step(2) + "/rank_00001.safetensors", whole = text_of(file);
    flip_last_bit(file);
    run.options.resume = run.step(2);
    const Error error = run.train_error(small_plan(), 3);
    QCOMPARE(error.code, std::string("damaged_checkpoint"));
    QCOMPARE(error.place.file, file);
    QVERIFY(error.message.find("block 1 of 1 (the header, params/") != std::string::npos);
    QVERIFY(error.hint.find(run.step(1)) != std::string::npos);
    // What shows without reading everything is known before ranks are started.
    put_text(file, whole.substr(1));
    const Error early = error_of([&] { check_checkpoints(small_plan(), run.options, {}); });
    QCOMPARE(early.place.file, file);
    QVERIFY(early.hint.find(run.step(1)) != std::string::npos);
  }

  void a_folder_gives_its_newest_whole_checkpoint_and_says_what_is_wrong_with_newer_ones() {
    Run run;
    run.options.keep = 3;
    run.train(small_plan(), 3);
    const ThreadTraining uninterrupted = train_in_threads(small_plan(), 4);
    flip_last_bit(run.step(3) + "/rank_00000.safetensors");
    std::filesystem::remove(run.step(2) + "/index.json");
    run.options.resume = run.path();
    const ThreadTraining rest = run.train(small_plan(), 4);
    QCOMPARE(rest.steps.size(), size_t{3});
    QVERIFY(rest.parameters == uninterrupted.parameters);
    QVERIFY(run.was_said("step_000003 is left out: " + run.step(3) + "/rank_00000.safetensors: block 1"));
    QVERIFY(run.was_said("step_000002 is left out: " + run.step(2) + "/index.json: the index is missing"));
    QCOMPARE(run.names(),
             (QStringList{"step_000002", "step_000002.damaged", "step_000003", "step_000003.damaged", "step_000004"}));
    for (int64_t step : {2, 3, 4}) flip_last_bit(run.step(step) + "/rank_00000.safetensors");
    QCOMPARE(run.train_error(small_plan(), 5).place.file, run.step(2) + "/rank_00000.safetensors");
  }

  void a_checkpoint_of_another_model_says_what_differs() {
    Run run;
    run.train(small_plan(), 1);
    CheckpointOptions options;
    options.resume = run.path();
    for (const std::string setting : {"model.d_ff=64", "optimizer.name=sgd", "model.name=mintext_mlp"}) {
      const Plan other = setting.starts_with("model.name")
                             ? compile({system_run("mintext_mlp", {}, {1, 1}), reference_host()})
                             : small_plan(1, {setting});
      const Error error = error_of([&] { train_in_threads(other, 2, {}, {}, {}, options); });
      QCOMPARE(error.code, std::string("other_model"));
      QCOMPARE(error.place.file, run.step(1));
      QCOMPARE(error_of([&] { check_checkpoints(other, options, {}); }), error);
    }
    options.resume = run.path() + "/nothing";
    QCOMPARE(error_of([&] { train_in_threads(small_plan(), 2, {}, {}, {}, options); }).code,
             std::string("no_checkpoint"));
  }

  // So that none of those that wait for it is taken for the one that hangs.
  void a_rank_gives_no_sign_of_life_while_its_part_of_a_checkpoint_makes_no_progress() {
    Run run;
    run.options.save_every = 0;
    std::mutex lock;
    std::map<std::thread::id, int> signs, of_waiting;
    std::atomic<int> exchanges = 0;
    run.options.on_progress = [&] {
      const std::scoped_lock locked(lock);
      ++signs[std::this_thread::get_id()];
    };
    run.options.on_exchange = [&] {
      ++exchanges;
      exchanges.notify_all();
    };
    run.options.before_call = [&](std::string_view call, const std::string& path) {
      if (call != "fsync" || !path.ends_with("/index.json")) return 0;
      const auto seen = [&] {
        const std::scoped_lock locked(lock);
        return signs;
      };
      const auto before = seen();
      const int enough = exchanges + 20;  // ten of each rank
      for (int known = exchanges; known < enough; known = exchanges) exchanges.wait(known);
      for (const auto& [rank, count] : seen()) of_waiting[rank] = count - (before.contains(rank) ? before.at(rank) : 0);
      return 0;
    };
    run.train(small_plan(), 1);
    QCOMPARE(signs.size(), size_t{2});
    const auto few = [](const auto& one) { return one.second <= 3; };
    QCOMPARE(std::ranges::count_if(of_waiting, few), 1);
  }

  // In whose first step they would be drawn without a sign of life.
  void what_its_data_have_before_a_resumed_step_is_drawn_before_training() {
    const Plan plan = compile({system_run("tiny_lm_dp", system_preset("tiny_lm_dp").small, {1}), reference_host()});
    Run run;
    run.options.save_every = 0;
    run.train(plan, 40);
    const QTemporaryDir session;
    const std::string directory = session.path().toStdString();
    TelemetryWriter telemetry(directory, 0, 1);
    uint64_t before = 0, after = 0;
    TrainHooks hooks;
    hooks.telemetry = &telemetry;
    hooks.checkpoints.resume = run.path();
    hooks.on_phase = [&](RankPhase phase) {
      const uint64_t heartbeat = TelemetryReader::open(directory, 0)->status().heartbeat;
      if (phase == RankPhase::initialising) before = heartbeat;
      if (phase == RankPhase::training) after = heartbeat;
    };
    const RankWorld alone = make_self_world(rank_memory_bytes(plan));
    train(plan, 40, *alone.communicator, alone.arena, hooks);
    QVERIFY2(after - before >= 40, qPrintable(QString::number(after - before)));
  }

  void what_ranks_copy_for_a_checkpoint_is_known_from_the_plan() {
    for (const SystemPreset& preset : system_presets()) {
      std::vector<int64_t> mesh(static_cast<size_t>(preset.mesh_axes), 1);
      mesh.front() = mesh.back() = 2;
      const Plan plan = compile({system_run(preset.name, preset.small, mesh), reference_host()});
      const CheckpointIndex index = lay_out_checkpoint(stored_states(plan), plan.mesh);
      std::vector<int64_t> expected(static_cast<size_t>(plan.mesh.device_count()));
      for (size_t i = 0; i < index.files.size(); ++i) {
        const auto header = std::ssize(file_layout(index, static_cast<int>(i)).header());
        expected[static_cast<size_t>(index.files[i].rank)] = index.files[i].bytes - header;
      }
      QCOMPARE(checkpoint_bytes(plan), expected);
    }
  }

  // So that where it lacks no step is lost.
  void memory_for_checkpoints_is_taken_before_the_first_step() {
    const Plan plan = small_plan(2, {"model.d_ff=20000"});
    const std::vector<int64_t> copied = checkpoint_bytes(plan);
    const int64_t all = std::accumulate(copied.begin(), copied.end(), int64_t{0});
    if (private_bytes() == 0) QSKIP("this kernel does not tell what memory a process has");
    Run run;
    run.options.save_every = 0;
    int64_t without = 0, with = 0;
    train_in_threads(plan, 1, {}, [&](const StepMessage&) { without = private_bytes(); });
    train_in_threads(
        plan, 1, {}, [&](const StepMessage&) { with = private_bytes(); }, {}, run.options);
    QVERIFY(all > 1 << 20);
    QVERIFY2(with - without > all / 2, qPrintable(QString("%1 of %2").arg(with - without).arg(all)));
  }

  void a_wait_for_a_checkpoint_begins_and_ends_on_every_rank() {
    Run run;
    run.options.save_every = 1;
    std::mutex lock;
    std::map<std::thread::id, std::vector<bool>> waits;
    run.options.on_wait = [&](bool begins) {
      const std::scoped_lock locked(lock);
      waits[std::this_thread::get_id()].push_back(begins);
    };
    run.train(small_plan(), 3);
    QCOMPARE(waits.size(), size_t{2});
    for (const auto& [rank, changes] : waits) {
      QVERIFY(!changes.empty() && changes.size() % 2 == 0);
      for (size_t i = 0; i < changes.size(); ++i) QCOMPARE(bool(changes[i]), i % 2 == 0);
    }
  }

  void changed_data_end_a_resume_unless_they_are_allowed() {
    TextRun run;
    run.train(run.plan(), 3);
    run.options.resume = run.options.folder;
    QCOMPARE(run.train(run.plan(), 4).steps.size(), size_t{1});
    QVERIFY(!run.was_said("changed") && !run.was_said("warning"));

    const std::string text = text_of(run.text);
    put_text(run.text, text + "x");
    const Plan plan = run.plan();
    const Error error = run.train_error(plan, 5);
    QCOMPARE(error.code, std::string("changed_data"));
    QCOMPARE(error.place.file, run.step_at(4));
    QVERIFY(error.message.ends_with("data.path: 'text.txt' had 6000 bytes and has 6001"));
    QVERIFY(error.hint.find("--allow-changed-data") != std::string::npos);
    QCOMPARE(error_of([&] { check_checkpoints(plan, run.options, identify_data(plan.training.data)); }), error);

    run.options.allow_changed_data = true;
    check_checkpoints(plan, run.options, identify_data(plan.training.data));
    QCOMPARE(run.train(plan, 5).steps.size(), size_t{1});
    QVERIFY(run.was_said("warning: the data changed since it was written: data.path: 'text.txt' had 6000 bytes"));

    // What was trained may be evaluated on any data.
    run.options.allow_changed_data = false;
    CheckpointOptions evaluation;
    evaluation.resume = run.step_at(4);
    const Plan evaluates = run.plan({"optimizer=null"});
    check_checkpoints(evaluates, evaluation, identify_data(evaluates.training.data));
    QCOMPARE(train_in_threads(evaluates, 1, {}, {}, {}, evaluation).steps.size(), size_t{1});

    // From there on its checkpoints are of the data as they are now.
    run.said.clear();
    QCOMPARE(run.train(plan, 6).steps.size(), size_t{1});
    QVERIFY(!run.was_said("warning"));
    put_text(run.text, "x" + text);
    QVERIFY(run.train_error(plan, 7).message.ends_with("'text.txt' has other content, of 6001 bytes as before"));
  }

  void changed_data_of_evaluation_end_a_resume_too() {
    TextRun run;
    const std::string kept = run.path() + "/kept.txt";
    put_text(kept, std::string(500, 'c'));
    const Plan plan = run.plan({"data.validation_path=" + kept});
    run.train(plan, 2);
    run.options.resume = run.options.folder;
    put_text(kept, std::string(400, 'c'));
    const Error error = run.train_error(plan, 3);
    QCOMPARE(error.code, std::string("changed_data"));
    QVERIFY(error.message.ends_with("data.validation_path: 'kept.txt' had 500 bytes and has 400"));
  }

  void a_checkpoint_of_an_older_version_goes_on_with_a_warning() {
    TextRun run;
    run.train(run.plan(), 2);
    const ThreadTraining uninterrupted = train_in_threads(run.plan(), 3);
    forget_data(run.step_at(2));
    run.options.resume = run.options.folder;
    const ThreadTraining rest = run.train(run.plan(), 3);
    QVERIFY(rest.parameters == uninterrupted.parameters);
    QVERIFY(run.was_said("warning: it does not say with which data it was trained"));
    QVERIFY(CheckpointReader(run.step_at(3)).index().data == identify_data(run.plan().training.data));
    // Made-up data follow from the run file, which it has.
    Run made_up;
    made_up.train(small_plan(), 2);
    forget_data(made_up.step(2));
    made_up.options.resume = made_up.path();
    made_up.train(small_plan(), 3);
    QVERIFY(!made_up.was_said("warning"));
  }

  void changed_settings_are_said_before_the_first_step() {
    Run run;
    run.train(small_plan(), 2);
    run.options.resume = run.path();
    std::optional<std::vector<std::string>> before_first;
    const auto on_step = [&](const StepMessage&) {
      const std::lock_guard lock(run.mutex);
      if (!before_first) before_first = run.said;
    };
    const Plan changed = small_plan(1, {"data.batch_size=32", "optimizer.learning_rate=0.125", "seed=77"});
    train_in_threads(changed, 3, {}, on_step, {}, run.options);
    QVERIFY(before_first.has_value());
    QCOMPARE(*before_first,
             (std::vector<std::string>{"going on from " + run.step(2),
                                       "changed since it was written: data.batch_size: 16 -> 32",
                                       "changed since it was written: optimizer.learning_rate: 0.001 -> 0.125",
                                       "changed since it was written: seed: 0 -> 77"}));
  }

  void a_changed_description_of_the_network_is_said() {
    Run run;
    Plan plan = small_plan();
    plan.training.description = R"({"rope_theta": 500000})";
    run.train(plan, 2);
    run.options.resume = run.path();
    plan.training.description = R"({"rope_theta": 10000})";
    run.train(plan, 3);
    QVERIFY(run.was_said("changed since it was written: config.json rope_theta: 500000 -> 10000"));
  }

  void a_rank_with_other_data_than_the_run_began_with_says_so() {
    const TextRun run;
    const Plan plan = run.plan();
    const DataIdentity at_start = identify_data(plan.training.data);
    RankWorld world = make_self_world(0);
    std::vector<std::string> said;
    const auto check = [&](bool allow) {
      return check_run_data(plan, *world.communicator, at_start, allow,
                            [&](const std::string& text) { said.push_back(text); });
    };
    QVERIFY(check(false) == at_start);
    std::filesystem::resize_file(run.text, 5000);
    const Error error = error_of([&] { check(false); });
    QCOMPARE(error.code, std::string("changed_data"));
    QCOMPARE(error.message, std::string("the files that this rank reads are not those with which the run began: "
                                        "data.path: 'text.txt' had 6000 bytes and has 5000"));
    QVERIFY(said.empty());
    QVERIFY(check(true) == identify_data(plan.training.data));
    QCOMPARE(said.size(), size_t{1});
    std::filesystem::remove(run.text);
    QCOMPARE(error_of([&] { check(true); }).code, std::string("missing_file"));
  }

  // A user's own mpirun has no launcher that knows the data.
  void ranks_without_a_launcher_compare_their_data_with_those_of_rank_0() {
    const auto of_bytes = [](int64_t bytes) { return DataIdentity{"text", {{"path", {{"a.txt", bytes, 5}}}}}; };
    for (const bool allow : {false, true}) {
      std::mutex mutex;
      std::vector<std::string> said;
      const auto say = [&](const std::string& text) {
        const std::lock_guard lock(mutex);
        said.push_back(text);
      };
      const std::vector<checks::Outcome> outcomes = checks::run_ranks(3, 0, [&](Communicator& world, auto) {
        require_run_data(of_bytes(7), world, {}, false, say);  // all have the same
        require_run_data(of_bytes(world.rank() == 2 ? 20 : 10), world, {}, allow, say);
      });
      const std::string reported =
          "the files that this rank reads are not those of rank 0: data.path: 'a.txt' had 10 bytes and has 20";
      QCOMPARE(said, allow ? std::vector<std::string>{"warning: " + reported} : std::vector<std::string>{});
      QCOMPARE(outcomes[2].code, std::string(allow ? "" : "changed_data"));
      if (!allow) QVERIFY(outcomes[2].text.find(reported) != std::string::npos);
      QVERIFY(outcomes[0].code != "changed_data" && outcomes[1].code != "changed_data");
    }
  }

  void imported_parameters_begin_a_run() {
    Run run;
    const Plan plan = small_plan();
    const std::string file = run.path() + "/parameters";
    put_text(file, "");
    const ThreadTraining trained = train_in_threads(plan, 2, {}, {}, file);
    const std::string folder = run.path() + "/imported";
    import_parameters(plan, file, folder);
    CheckpointOptions options;
    options.resume = folder;
    const ThreadTraining begun = train_in_threads(small_plan(4), 0, {}, {}, {}, options);
    QVERIFY(begun.parameters == trained.parameters);
    QVERIFY(begun.optimizer == train_in_threads(plan, 0).optimizer);
    QCOMPARE(error_of([&] { import_parameters(plan, file, folder); }).code, std::string("checkpoint_exists"));
    QCOMPARE(error_of([&] { import_parameters(small_plan(1, {"model.d_ff=64"}), file, folder + "2"); }).code,
             std::string("other_model"));
    QVERIFY(!std::filesystem::exists(folder + "2"));
  }

  void of_many_arrays_that_differ_the_first_twenty_are_named_and_all_counted() {
    Run run;
    const Plan plan = small_plan();
    const size_t own = parameter_layout(plan).arrays().size();
    const std::string file = run.path() + "/parameters";
    for (size_t more : {20 - own, 21 - own, size_t{100'000}}) {
      std::vector<NamedArray> arrays;
      for (size_t i = 0; i < more; ++i) arrays.push_back({"x/" + std::to_string(i), {{0}, DType::f32}});
      put_text(file, SafetensorsLayout(std::move(arrays)).header());
      const std::vector<Error> errors = errors_of([&] { import_parameters(plan, file, run.path() + "/imported"); });
      const size_t all = own + more;
      QCOMPARE(errors.size(), all > 20 ? size_t{22} : all + 1);
      QVERIFY(errors.front().message.starts_with("it holds no 'params/"));
      if (all > 20) QVERIFY2(errors[20].message.starts_with(std::to_string(all)), errors[20].message.c_str());
      const NamedArray first = parameter_layout(plan).arrays().front();
      QVERIFY2(errors.back().message.starts_with("the run expects '" + first.name + "' f32 " +
                                                 to_string(first.type.shape) + ", '"),
               errors.back().message.c_str());
    }
    QVERIFY(!std::filesystem::exists(run.path() + "/imported"));
  }
};

REGISTER_TEST(CheckpointingTest)

}  // namespace checkpointing_test

#include "checkpointing_test.moc"
