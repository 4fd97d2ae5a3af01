#include <fmt/format.h>

#include <QFile>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "tests/faults/kinds/kinds.h"
#include "tests/faults/whole_runs.h"

namespace shardscope::faults {

namespace fs = std::filesystem;

namespace {

constexpr const char* kept_text = "a user's";

// A folder outside of the run's, with one file, which nobody may touch.
std::string archive(const Start& start) { return start.folder + "/archive"; }

void make_kept(const fs::path& folder) {
  fs::create_directories(folder);
  std::ofstream(folder / "notes") << kept_text;
}

void check_kept(const fs::path& folder) {
  std::ifstream file(folder / "notes");
  std::string text;
  std::getline(file, text);
  if (text != kept_text) throw Complaint("the user's " + (folder / "notes").string() + " is lost");
}

std::vector<std::string> step_folders(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename();
    if (name.starts_with("step_")) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

Fault with_checkpoints(const std::string& name, int64_t steps, int64_t save_every) {
  Fault fault;
  fault.name = name;
  fault.phases = training;
  fault.expected = {"", {0}, 90};
  fault.prepare = [=](Start& start, Random&) {
    ask_for_all_steps(start, steps);
    start.add({"--checkpoint", start.checkpoints(), "--save-every", std::to_string(save_every), "--keep", "2"});
  };
  fault.check = check_all_steps;
  return fault;
}

void wait_for_checkpoints(Run& run) {
  const auto has_some = [&] { return !step_folders(run.start().checkpoints()).empty(); };
  if (!run.run_until(has_some, 20'000) || run.ended()) throw Missed{};
}

// Another folder takes its place: nothing is written there, and both paths are named.
Fault moved(const std::string& name, const std::function<void(Run&)>& take_its_place,
            const std::function<void(const Run&)>& check) {
  Fault fault = with_checkpoints(name, Start::endless, 300);
  fault.expected = {"checkpoints[^_].*checkpoints_old|checkpoints_old.*checkpoints[^_]", {1}, 20};
  fault.inject = [take_its_place](Run& run, Random&) {
    wait_for_checkpoints(run);
    const std::string folder = run.start().checkpoints();
    fs::rename(folder, folder + "_old");
    run.begin_fault();
    take_its_place(run);
  };
  fault.check = check;
  return fault;
}

Fault moved_and_replaced() {
  return moved(
      "the checkpoint folder moved, an empty one in its place",
      [](Run& run) { fs::create_directory(run.start().checkpoints()); },
      [](const Run& run) {
        if (!fs::is_empty(run.start().checkpoints()))
          throw Complaint("the run writes into a folder that is not its own");
      });
}

Fault moved_and_taken_by_another_run() {
  return moved(
      "the checkpoint folder moved, another run's in its place",
      [](Run& run) {
        Start other = run.start();
        other.steps = 300;
        other.arguments = {"--checkpoint", run.start().checkpoints(), "--save-every", "100"};
        const Run::Ended ended = run.run_beside(other);
        if (ended.code != 0) throw Complaint("the other run failed: " + ended.errors);
      },
      [](const Run& run) {
        const std::vector<std::string> wanted = {"step_000100", "step_000200", "step_000300"};
        if (step_folders(run.start().checkpoints()) != wanted) throw Complaint("the other run's checkpoints are gone");
      });
}

// The user has moved an old checkpoint elsewhere, and left a link in its place.
Fault a_link_as_checkpoint() {
  Fault fault = with_checkpoints("a link in the place of an old checkpoint", 4000, 100);
  fault.inject = [](Run& run, Random&) {
    const std::string folder = run.start().checkpoints();
    fs::create_directory(archive(run.start()));
    const auto moves = [&] {
      const std::vector<std::string> names = step_folders(folder);
      std::error_code error;
      if (names.empty()) return false;
      const fs::path kept = archive(run.start()) + "/" + names.front();
      fs::rename(folder + "/" + names.front(), kept, error);
      if (error) return false;
      fs::create_directory_symlink(kept, folder + "/" + names.front(), error);
      make_kept(kept);
      return true;
    };
    if (!run.run_until(moves, 20'000)) throw Missed{};
  };
  fault.check = [](const Run& run) {
    for (const std::string& name : step_folders(archive(run.start()))) {
      const fs::path kept = archive(run.start()) + "/" + name;
      check_kept(kept);
      if (!fs::exists(kept / "index.json")) throw Complaint(kept.string() + " has been emptied");
    }
    check_all_steps(run);
  };
  return fault;
}

// One that a run finds when it clears up, and when it writes that checkpoint: it puts the link aside, says so, and
// trains to the end with all checkpoints.
Fault a_link_as_part() {
  Fault fault = with_checkpoints("a link in the place of a checkpoint that is being written", 500, 100);
  fault.phases = at_start;
  fault.expected.said = "step_000100\\.left: kept, since this program did not write it: \\.step_000100\\.part";
  fault.prepare = [prepare = fault.prepare](Start& start, Random& random) {
    prepare(start, random);
    make_kept(archive(start));
    fs::create_directories(start.checkpoints());
    fs::create_directory_symlink(archive(start), start.checkpoints() + "/.step_000100.part");
  };
  fault.check = [](const Run& run) {
    check_kept(archive(run.start()));
    if (std::distance(fs::directory_iterator(archive(run.start())), {}) != 1) {
      throw Complaint("the run writes through a link");
    }
    if (fs::read_symlink(run.start().checkpoints() + "/step_000100.left") != archive(run.start())) {
      throw Complaint("the link is gone");
    }
    const std::vector<std::string> wanted = {"step_000100.left", "step_000400", "step_000500"};
    if (step_folders(run.start().checkpoints()) != wanted) throw Complaint("the newest checkpoints are not there");
    check_all_steps(run);
  };
  return fault;
}

// The removal of that checkpoint fails: a warning, and what is the user's remains.
Fault a_folder_in_a_checkpoint() {
  Fault fault = with_checkpoints("a user's folder in an old checkpoint", 4000, 100);
  fault.expected.said = "step_\\d+[^\\n]*\\bmine\\b";
  fault.inject = [](Run& run, Random&) {
    const auto puts = [&] {
      const std::vector<std::string> names = step_folders(run.start().checkpoints());
      std::error_code error;
      if (names.empty()) return false;
      const fs::path folder = run.start().checkpoints() + "/" + names.back() + "/mine";
      if (!fs::create_directory(folder, error)) return false;
      std::ofstream(folder / "notes") << kept_text;
      return fs::exists(run.start().checkpoints() + "/" + names.back() + "/mine/notes");
    };
    if (!run.run_until(puts, 20'000)) throw Missed{};
    run.begin_fault();
  };
  fault.check = [](const Run& run) {
    const fs::recursive_directory_iterator all(run.start().checkpoints());
    const auto kept =
        std::find_if(begin(all), end(all), [](const auto& one) { return one.path().filename() == "mine"; });
    if (kept == end(all)) throw Complaint("the user's folder has been removed");
    check_kept(kept->path());
    check_all_steps(run);
  };
  return fault;
}

// Folders of the user's that look as if a run that died had left them.
Fault folders_named_as_sessions() {
  Fault fault;
  fault.name = "a user's folders in TMPDIR, named as those of runs";
  fault.phases = at_start;
  fault.expected = {"", {0}, 30};
  fault.prepare = [](Start& start, Random&) {
    ask_for_all_steps(start, 20);
    for (const char* name : {"/shardscope-run-mine", "/shardscope-new-mine"}) {
      const std::string folder = start.temporary() + name;
      make_kept(folder);
      fs::last_write_time(folder, fs::file_time_type::clock::now() - std::chrono::hours(1));
    }
  };
  fault.check = [](const Run& run) {
    check_all_steps(run);
    for (const char* name : {"/shardscope-run-mine", "/shardscope-new-mine"}) {
      check_kept(run.start().temporary() + name);
      fs::remove_all(run.start().temporary() + name);  // what is left there is the run's
    }
  };
  return fault;
}

}  // namespace

std::vector<Fault> moved_folders() {
  return {moved_and_replaced(), moved_and_taken_by_another_run(), a_link_as_checkpoint(),
          a_link_as_part(),     a_folder_in_a_checkpoint(),       folders_named_as_sessions()};
}

}  // namespace shardscope::faults
