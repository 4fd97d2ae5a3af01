#include "engine/session/recorded_run.h"
#include "engine/machine/host_machine.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <QTemporaryDir>
#include <QtTest>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>

#include "engine/base/error.h"
#include "engine/session/run_recorder.h"
#include "tests/test_program.h"

namespace recorded_run_test {

using namespace shardscope;

namespace fs = std::filesystem;

namespace {

const HelloMessage hello{
    "{\n \"text\": 1\n}\n", 0xfedcba9876543210, 2, {{"a", Phase::forward}, {"b", Phase::backward}}, {"loss"}};

TraceMessage trace_of(TraceChoice choice, int64_t step) {
  return {choice, step, {{{1, 2, 3}, {4, 5, 6 + step}}, {{1, 1, 1}, {2, 2, 2}}}};
}

StepMessage step_of(int64_t step) { return {step, {{"loss", 0.1 * static_cast<double>(step)}}, 3.5, {{}, {}}}; }

const std::vector<Message> reported = {
    RankStateMessage{1, RankState::running, 12},         step_of(0), LogMessage{0, "a\nb \xc3\xa9"},    step_of(1),
    RestartMessage{1, 1, {1, "SIGKILL", "a", "killed"}}, step_of(1), FailureMessage{-1, "", "", "over"}};

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<Message> replayed(const std::string& folder) {
  std::vector<Message> messages;
  RecordedRun(folder).replay([&](const Message& message) { messages.push_back(message); });
  return messages;
}

// "code at FILE:LINE" of the Failure, the file without its folder.
template <class Call>
std::string failure_of(Call call) {
  try {
    call();
  } catch (const Failure& failure) {
    const Error& error = failure.errors().front();
    return error.code + " at " + fs::path(error.place.file).filename().string() + ":" +
           std::to_string(error.place.line);
  }
  return "";
}

}  // namespace

class RecordedRunTest : public QObject {
  Q_OBJECT

  std::unique_ptr<QTemporaryDir> parent_;
  std::string folder_;

  // One that has begun.
  struct Begun : RunRecorder {
    Begun(const std::string& folder, Existing existing) : RunRecorder(folder, existing, {}, hello, reference_host()) {
      begin();
    }
  };
  Begun recorder(Existing existing = Existing::refuse) const { return {folder_, existing}; }
  std::unique_ptr<RunRecorder> staged(Existing existing, std::vector<std::string> inputs = {}) const {
    return std::make_unique<RunRecorder>(folder_, existing, inputs, hello, reference_host());
  }
  // What is below the folder, with the text of files.
  std::map<std::string, std::string> contents() const {
    std::map<std::string, std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(folder_))
      found[entry.path().lexically_relative(folder_)] = entry.is_regular_file() ? text_of(entry.path()) : "";
    return found;
  }
  void record() const {
    Begun run = recorder();
    for (const Message& message : reported) run.add(message);
  }
  void change(const char* file, const std::function<std::string(std::string)>& edit) const {
    const std::string path = folder_ + "/" + file, text = edit(text_of(path));
    std::ofstream(path, std::ios::binary) << text;
  }

 private slots:
  void init() {
    parent_ = std::make_unique<QTemporaryDir>();
    folder_ = parent_->filePath("new/record").toStdString();
  }

  void a_record_of_an_earlier_version_has_the_machine_of_its_device_profile() {
    record();
    fs::remove(folder_ + "/machine.json");
    std::ofstream(folder_ + "/profile.json") << R"({"name": "former", "cores": 3.0, "matrix_flops_per_core": 7e10,
      "memory_bytes_per_core": 8e9, "collective_bytes_per_core": 5e9, "collective_latency": 6e-5,
      "step_latency": 3e-6, "memory_bytes": 17179869184})";
    const RecordedRun run(folder_);
    QCOMPARE(run.machine().name, std::string("former"));
    QCOMPARE(run.machine().device.cores, 3);
    QCOMPARE(run.machine().device.products.at(Precision::f32).flops_per_second, 7e10);
    QVERIFY(replayed(folder_).front() == Message(hello));
  }

  void what_was_reported_is_reported_again() {
    record();
    const RecordedRun run(folder_);
    QVERIFY(run.hello() == hello);
    QVERIFY(run.machine() == reference_host());
    QVERIFY(run.started() > 1.6e9 && run.started() < 1e11);
    std::vector<Message> expected = {hello};
    expected.insert(expected.end(), reported.begin(), reported.end());
    QVERIFY(replayed(folder_) == expected);
    QCOMPARE(text_of(folder_ + "/run_file.json"), hello.config_json);
  }

  void of_each_choice_the_last_trace_is_kept_and_reported_before_the_end() {
    const FinishedMessage end{RunEnd::finished, 2};
    {
      Begun run = recorder();
      for (int64_t step : {0, 1}) run.add(trace_of(TraceChoice::latest, step));
      run.add(trace_of(TraceChoice::slowest, 0));
      run.add(end);
    }
    const std::vector<Message> expected = {hello, trace_of(TraceChoice::latest, 1), trace_of(TraceChoice::slowest, 0),
                                           end};
    QVERIFY(replayed(folder_) == expected);
    QCOMPARE(RecordedRun(folder_).traces().size(), size_t{2});
  }

  void at_a_restart_the_last_traces_are_there() {
    Begun run = recorder();
    for (int64_t step = 0; step < 10; ++step) run.add(trace_of(TraceChoice::latest, step));
    run.add(RestartMessage{1, 0, {}});
    QVERIFY(RecordedRun(folder_).traces() == std::vector{trace_of(TraceChoice::latest, 9)});
  }

  void a_record_that_the_run_itself_reads_is_not_written_over() {
    record();
    staged(Existing::overwrite, {"other"});
    QCOMPARE(failure_of([&] { staged(Existing::overwrite, {folder_ + "/run_file.json"}); }),
             std::string("output_is_input at run_file.json:0"));
  }

  void a_record_that_does_not_begin_changes_nothing() {
    staged(Existing::refuse);
    QVERIFY(!fs::exists(fs::path(folder_).parent_path()));
    record();
    std::ofstream(folder_ + "/trace_latest.json") << "trace";
    const auto before = contents();
    staged(Existing::overwrite);
    QVERIFY(contents() == before);
  }

  void the_record_of_before_stays_beside_the_new_one_until_that_is_complete() {
    record();
    std::ofstream(folder_ + "/trace_slowest.json") << to_json_line(trace_of(TraceChoice::slowest, 7));
    fs::create_directory(folder_ + "/step_000010");
    std::ofstream(folder_ + "/old") << "mine";
    const auto before = contents();
    {
      Begun run = recorder(Existing::overwrite);  // which fails
      QCOMPARE(run.kept(), folder_ + "/old.2");
      QCOMPARE(replayed(folder_).size(), size_t{1});
      QVERIFY(RecordedRun(folder_).traces().empty());
      QCOMPARE(replayed(run.kept()).size(), reported.size() + 2);
    }
    for (const char* file : {"messages.jsonl", "record.json", "run_file.json", "machine.json", "trace_slowest.json"})
      QCOMPARE(text_of(folder_ + "/old.2/" + file), before.at(file));
    fs::remove_all(folder_ + "/old.2");
    Begun run = recorder(Existing::overwrite);
    run.add(step_of(0));
    run.complete();
    QVERIFY(run.kept().empty() && !fs::exists(folder_ + "/old.2"));
    QCOMPARE(replayed(folder_).size(), size_t{2});
    QVERIFY(fs::exists(folder_ + "/step_000010") && text_of(folder_ + "/old") == "mine");
  }

  void of_two_that_write_one_record_the_second_is_refused_and_mixes_nothing() {
    for (Existing existing : {Existing::refuse, Existing::overwrite}) {
      const auto first = staged(existing);
      QVERIFY(failure_of([&] { staged(Existing::overwrite); }).starts_with("file_exists at "));
      first->begin();
      first->add(step_of(0));
      const auto before = contents();
      QCOMPARE(failure_of([&] { staged(Existing::overwrite); }), std::string("file_exists at messages.jsonl:0"));
      QVERIFY(contents() == before);
      first->add(step_of(1));
      QCOMPARE(replayed(folder_).size(), size_t{3});
      first->complete();
    }
  }

  void symbolic_links_are_not_followed() {
    record();
    const std::string link = parent_->filePath("link").toStdString(), kept = parent_->filePath("kept").toStdString();
    fs::create_directory_symlink(folder_, link);
    QCOMPARE(failure_of([&] { RunRecorder(link, Existing::overwrite, {}, hello, reference_host()); }),
             std::string("file_exists at link:0"));
    std::ofstream(kept) << "kept";
    fs::create_symlink(kept, folder_ + "/trace_latest.json.part");
    {
      Begun run = recorder(Existing::overwrite);
      run.add(trace_of(TraceChoice::latest, 0));
    }
    QCOMPARE(text_of(kept), std::string("kept"));
    fs::remove(folder_ + "/trace_latest.json");
    fs::create_symlink(kept, folder_ + "/trace_latest.json");
    QCOMPARE(failure_of([&] { staged(Existing::overwrite); }), std::string("file_exists at trace_latest.json:0"));
    QCOMPARE(text_of(kept), std::string("kept"));
  }

  void of_two_runs_whose_folder_was_moved_between_each_writes_its_own() {
    const std::string moved = parent_->filePath("moved").toStdString();
    {
      Begun first = recorder();
      first.add(step_of(0));
      fs::rename(folder_, moved);
      Begun second = recorder();
      for (const Message& message : reported) second.add(message);
      first.add(trace_of(TraceChoice::latest, 0));
      std::string said;
      try {
        first.add(FinishedMessage{RunEnd::finished, 1});
      } catch (const Failure& failure) {
        said = failure.what();
      }
      QVERIFY2(said.find("moved to " + moved) != said.npos && said.find(folder_) != said.npos, said.c_str());
    }
    QVERIFY(RecordedRun(folder_).traces().empty());
    QCOMPARE(replayed(folder_).size(), 1 + reported.size());
    QCOMPARE(RecordedRun(moved).traces().size(), size_t{1});
    QCOMPARE(replayed(moved).size(), size_t{4});
  }

  void the_record_of_before_is_left_where_it_was_moved_to() {
    record();
    const std::string archive = parent_->filePath("archive").toStdString();
    Begun run = recorder(Existing::overwrite);
    run.add(step_of(0));
    fs::rename(folder_ + "/old", archive);
    fs::create_directory_symlink(archive, folder_ + "/old");
    run.complete();
    QCOMPARE(replayed(archive).size(), 1 + reported.size());
    QCOMPARE(run.kept(), archive);
  }

  void a_file_of_the_user_at_the_name_of_a_part_of_a_trace_stays() {
    {
      Begun run = recorder();
      std::ofstream(folder_ + "/trace_latest.json.part") << "mine";
      run.add(trace_of(TraceChoice::latest, 0));
    }
    QCOMPARE(text_of(folder_ + "/trace_latest.json.part"), std::string("mine"));
    QCOMPARE(RecordedRun(folder_).traces().size(), size_t{1});
  }

  void a_record_of_before_is_kept_where_the_new_one_has_no_step() {
    record();
    Begun run = recorder(Existing::overwrite);
    run.add(FinishedMessage{RunEnd::finished, 0});
    run.complete();
    QCOMPARE(run.kept(), folder_ + "/old");
    QCOMPARE(replayed(run.kept()).size(), 1 + reported.size());
  }

  void a_begin_that_fails_half_way_is_undone() {
    record();
    std::ofstream(folder_ + "/trace_latest.json") << to_json_line(trace_of(TraceChoice::latest, 7));
    const auto before = contents();
    const auto run = staged(Existing::overwrite);
    fs::rename(folder_ + "/record.json.part", folder_ + "/elsewhere");
    QVERIFY(failure_of([&] { run->begin(); }).starts_with("unwritable_file at "));
    QVERIFY(run->kept().empty());
    auto after = contents();
    for (const auto& [name, text] : before) QVERIFY2(after[name] == text, name.c_str());
    QVERIFY(!after.contains("old"));
  }

  void messages_that_somebody_has_removed_or_truncated_are_said_at_the_end() {
    for (bool removes : {true, false}) {
      Begun run = recorder(Existing::overwrite);
      run.add(step_of(0));
      if (removes) fs::remove(folder_ + "/messages.jsonl");
      else fs::resize_file(folder_ + "/messages.jsonl", 0);
      run.add(step_of(1));
      QCOMPARE(failure_of([&] {
                 run.add(FinishedMessage{RunEnd::finished, 2});
               }),
               std::string("unwritable_file at messages.jsonl:0"));
    }
  }

  void of_a_record_that_is_removed_what_is_not_its_own_stays() {
    record();
    const std::string kept = parent_->filePath("kept").toStdString(), link = parent_->filePath("link").toStdString();
    fs::create_directory(kept);
    std::ofstream(kept + "/record.json") << "kept";
    std::ofstream(folder_ + "/notes") << "mine";
    fs::create_directory_symlink(kept, folder_ + "/old");
    fs::create_directory_symlink(kept, link);
    remove_record(folder_);
    const auto left = contents();
    QCOMPARE(left.size(), size_t{2});
    QVERIFY(left.contains("notes") && left.contains("old"));
    remove_record(link);
    QCOMPARE(text_of(kept + "/record.json"), std::string("kept"));
    fs::remove(folder_ + "/notes");
    fs::remove(folder_ + "/old");
    record();
    remove_record(folder_);
    QVERIFY(!fs::exists(folder_));
  }

  void all_that_was_reported_is_there_while_the_run_goes_on() {
    Begun run = recorder();
    for (size_t i = 0; i < reported.size(); ++i) {
      QCOMPARE(replayed(folder_).size(), 1 + i);
      run.add(reported[i]);
    }
  }

  void a_last_line_that_is_cut_is_none() {
    record();
    const size_t whole = replayed(folder_).size(), bytes = text_of(folder_ + "/messages.jsonl").size();
    for (size_t cut : {size_t{1}, size_t{2}, size_t{30}}) {
      change("messages.jsonl", [&](std::string text) { return text.substr(0, bytes - cut); });
      QCOMPARE(replayed(folder_).size(), whole - 1);
    }
  }

  void what_is_wrong_is_said_where_it_stands() {
    const auto after = [&](const char* file, const std::function<std::string(std::string)>& edit) {
      fs::remove_all(folder_);
      {
        Begun run = recorder();
        for (const Message& message : reported) run.add(message);
        run.add(trace_of(TraceChoice::latest, 1));
      }
      change(file, edit);
      return failure_of([&] { replayed(folder_); });
    };
    const auto nothing = [](const std::string&) { return std::string(); };
    QCOMPARE(after("record.json", [](const std::string& text) { return "x" + text; }),
             std::string("bad_record at record.json:0"));
    QCOMPARE(after("messages.jsonl", nothing), std::string("bad_record at messages.jsonl:1"));
    QCOMPARE(after("messages.jsonl", [](std::string text) { return text.insert(text.find('\n') + 1, "{}\n"); }),
             std::string("bad_record at messages.jsonl:2"));
    QCOMPARE(after("trace_latest.json", nothing), std::string("bad_record at trace_latest.json:1"));
    QCOMPARE(after("trace_latest.json", [](std::string) { return to_json_line(TraceMessage{}); }),
             std::string("bad_record at trace_latest.json:1"));
    fs::remove(folder_ + "/run_file.json");
    change("trace_latest.json", [](std::string) { return to_json_line(trace_of(TraceChoice::latest, 1)); });
    QCOMPARE(failure_of([&] { replayed(folder_); }), std::string("unreadable_record at run_file.json:0"));
    QCOMPARE(::mkfifo((folder_ + "/run_file.json").c_str(), 0600), 0);
    QCOMPARE(failure_of([&] { replayed(folder_); }), std::string("unreadable_record at run_file.json:0"));
    QCOMPARE(failure_of([&] { RecordedRun(folder_ + "/none"); }), std::string("unreadable_record at record.json:0"));
  }

  void what_somebody_else_has_put_in_its_place_is_neither_waited_for_nor_read_whole() {
    for (const char* file : {"messages.jsonl", "record.json", "trace_latest.json"}) {
      fs::remove_all(folder_);
      record();
      const std::string path = folder_ + "/" + file;
      fs::remove(path);
      QVERIFY(::mkfifo(path.c_str(), 0600) == 0);
      QCOMPARE(failure_of([&] { replayed(folder_); }), "unreadable_record at " + std::string(file) + ":0");
    }
    for (const auto& [file, line] : {std::pair("messages.jsonl", "9"), {"run_file.json", "0"}}) {
      fs::remove_all(folder_);
      record();
      fs::resize_file(folder_ + "/" + file, message_limits::line_bytes + (2 << 20));  // zeros, without a newline
      QCOMPARE(failure_of([&] { replayed(folder_); }), "bad_record at " + std::string(file) + ":" + line);
    }
  }

  void a_record_of_another_version_is_refused() {
    for (const auto& [from, to] : {std::pair<std::string, std::string>("\"version\":\"", "\"version\":\"9."),
                                   {"\"format\":1", "\"format\":2"}}) {
      fs::remove_all(folder_);
      record();
      change("record.json", [&](std::string text) { return text.replace(text.find(from), from.size(), to); });
      QVERIFY(RecordedRun::is_at(folder_));
      QCOMPARE(failure_of([&] { RecordedRun{folder_}; }), std::string("record_version at record.json:0"));
    }
  }

  void nothing_but_a_record_is_written_over_and_that_only_when_it_may_be() {
    record();
    QCOMPARE(failure_of([&] { recorder(); }), std::string("file_exists at record:0"));
    QCOMPARE(replayed(folder_).size(), 1 + reported.size());
    recorder(Existing::overwrite);
    QCOMPARE(replayed(folder_).size(), size_t{1});
    fs::remove(folder_ + "/record.json");
    for (Existing existing : {Existing::refuse, Existing::overwrite})
      QCOMPARE(failure_of([&] { recorder(existing); }), std::string("file_exists at record:0"));
    fs::remove_all(folder_);
    fs::create_directory(folder_);
    recorder();
  }

  void a_disk_that_is_full_is_said_and_what_was_reported_before_stays() {
    struct rlimit before {};
    ::getrlimit(RLIMIT_FSIZE, &before);
    const auto handler = ::signal(SIGXFSZ, SIG_IGN);
    std::string said;
    size_t whole = 0;
    {
      Begun run = recorder();
      const struct rlimit small { 4096, before.rlim_max };
      ::setrlimit(RLIMIT_FSIZE, &small);
      for (int64_t step = 0; said.empty() && step < 1000; ++step, ++whole)
        said = failure_of([&] { run.add(step_of(step)); });
      ::setrlimit(RLIMIT_FSIZE, &before);
      run.add(step_of(2000));
    }
    ::signal(SIGXFSZ, handler);
    QCOMPARE(said, std::string("unwritable_file at messages.jsonl:0"));
    QCOMPARE(replayed(folder_).size(), whole);
  }

  void a_place_that_cannot_be_written_is_said_at_once() {
    folder_ = "/proc/shardscope/record";
    QCOMPARE(failure_of([&] { recorder(); }), std::string("unwritable_file at record:0"));
  }
};

REGISTER_CORE_TEST(RecordedRunTest)

}  // namespace recorded_run_test

#include "recorded_run_test.moc"
