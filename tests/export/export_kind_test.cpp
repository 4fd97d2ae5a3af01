#include "engine/export/export_kind.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <QtTest>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/compile/document_of.h"
#include "engine/compile/file_paths.h"
#include "engine/compile/settings.h"
#include "engine/config/write.h"
#include "engine/data/data_kind.h"
#include "engine/data/token_files.h"
#include "engine/export/headless.h"
#include "engine/export/sharded_arrays.h"
#include "engine/machine/host_machine.h"
#include "engine/mesh/partition_spec.h"
#include "engine/session/step_line.h"
#include "tests/export/exported.h"
#include "tests/test_program.h"
#include "viz/text/visualize.h"

namespace export_kind_test {

using namespace shardscope;
using namespace shardscope::test;

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

int64_t bytes_below(const std::string& path) {
  if (fs::is_regular_file(path)) return static_cast<int64_t>(fs::file_size(path));
  int64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    if (entry.is_regular_file()) bytes += static_cast<int64_t>(entry.file_size());
  }
  return bytes;
}

bool is_written_in_jax(const RunConfig& config) { return config.trains() && config.pipeline.axis.empty(); }

PartitionSpec spec_of(const Json& json) {
  PartitionSpec spec;
  for (const Json& dim : json) {
    if (dim.is_null()) spec.dims.emplace_back();
    else if (dim.is_string()) spec.dims.push_back({dim.get<std::string>()});
    else spec.dims.push_back(dim.get<std::vector<std::string>>());
  }
  return spec;
}

// While it lives no file grows beyond a few bytes: writing more fails, as on a full disk.
class SmallFiles {
 public:
  SmallFiles() {
    std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit few{16, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &few);
  }
  ~SmallFiles() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;

 private:
  rlimit before_{};
};

// Of many layers and a training of thousands of steps.
const ExportSource& large_source() {
  static const ExportSource source = [] {
    const RunConfig config =
        with_settings(load_run_file(preset_path("parallax_decoder")), {"model.num_layers=60", "steps=5000"});
    const auto plan = std::make_shared<const Plan>(compile({config, reference_host()}));
    ExportSource made{plan, MeasuredRun{1e9, {made_trace(*plan, TraceChoice::median, 1)}, {}}, {}, {}, {}};
    made.run->replay = [plan](const std::function<void(const Message&)>& take) {
      take(hello_of(*plan));
      for (int64_t step = 0; step < plan->training.steps; ++step) take(made_step(*plan, step));
    };
    return made;
  }();
  return source;
}

bool is_drawn(const ExportKind& kind) { return kind.name == "svg" || kind.name == "png" || kind.name == "pdf"; }

}  // namespace

class ExportKindTest : public QObject {
  Q_OBJECT

  // Pictures are drawn by the window's program, and tried with it.
  static void each_page(const std::function<void(const ExportKind&, const std::string& page)>& visit) {
    for (const ExportKind& kind : export_kinds()) {
      if (is_drawn(kind)) continue;
      if (kind.pages.empty()) visit(kind, "");
      for (const std::string& page : kind.pages) visit(kind, page);
    }
  }

  static void each_preset() {
    QTest::addColumn<std::string>("preset");
    for (const std::string& name : all_presets()) QTest::newRow(name.c_str()) << name;
  }

 private slots:
  void every_kind_has_a_name_of_its_own_and_says_what_it_is() {
    std::set<std::string> names;
    for (const ExportKind& kind : export_kinds()) {
      QVERIFY(names.insert(kind.name).second);
      QVERIFY(!kind.what.empty() && kind.write);
      QCOMPARE(&find_export_kind(kind.name), &kind);
    }
    QCOMPARE(failure_code([] { find_export_kind("perfeto"); }), std::string("unknown_export_kind"));
  }

  // Pictures are drawn by the window's program, and tried with it.
  void every_preset_exports_to_every_kind_and_page_data() { each_preset(); }
  void every_preset_exports_to_every_kind_and_page() {
    QFETCH(std::string, preset);
    const ExportSource source = made_source(preset);
    const QTemporaryDir folder;
    for (const ExportKind& kind : export_kinds()) {
      if (is_drawn(kind)) continue;
      std::vector<std::string> pages = kind.pages;
      if (pages.empty()) pages = {""};
      if (kind.name == "jax" && !is_written_in_jax(document_of(*source.plan))) pages = {"specs"};
      for (const std::string& page : pages) {
        const std::string path =
            folder.filePath(QString::fromStdString(kind.name + page + kind.part_of_name.first)).toStdString();
        const Exported exported = export_source(kind, source, {page}, path, {});
        QCOMPARE(exported.path, path);
        QCOMPARE(fs::is_directory(path), kind.extension.empty());
        QCOMPARE(exported.bytes, bytes_below(path));
        QVERIFY(exported.bytes > 0);
        QCOMPARE(failure_code([&] { export_source(kind, source, {page}, path, {}); }), std::string("file_exists"));
      }
    }
    QVERIFY(QDir(folder.path()).entryList({"*.part"}).isEmpty());
  }

  void the_same_source_gives_the_same_bytes() {
    for (const ExportKind& kind : export_kinds()) {
      if (kind.extension.empty() || is_drawn(kind) || kind.name == "jax") continue;
      QCOMPARE(exported_text(made_source("workshop_3d"), kind.name),
               exported_text(made_source("workshop_3d"), kind.name));
    }
  }

  void specs_are_the_layouts_of_all_that_is_stored_and_named_data() { each_preset(); }
  void specs_are_the_layouts_of_all_that_is_stored_and_named() {
    QFETCH(std::string, preset);
    const ExportSource source = made_source(preset, false);
    const Plan& plan = *source.plan;
    const Json specs = Json::parse(exported_text(source, "specs"));
    size_t reported = 0;
    for (const ShardedArray& array : sharded_arrays(plan)) {
      const bool is_reported = array.kind != ShardedArray::Kind::activation || array.is_set;
      QCOMPARE(specs.contains(array.name), is_reported);
      if (!is_reported) continue;
      ++reported;
      Sharding whole = array.sharding;
      whole.partial = 0;
      const PartitionSpec spec = spec_of(specs[array.name]);
      QCOMPARE(std::ssize(spec.dims), std::ssize(array.shape));
      QCOMPARE(to_sharding(spec, plan.mesh, array.sharding.rank), whole);
    }
    QCOMPARE(specs.size(), reported);
    for (const ParameterPlan& parameter : plan.parameters) {
      std::string path;
      for (const std::string& part : parameter.path) path += (path.empty() ? "" : "/") + part;
      QVERIFY(specs.contains(path));
      for (const std::string& state : parameter.state_names)
        QVERIFY2(specs.contains("optimizer/" + state + "/" + path), (state + " of " + path).c_str());
    }
  }

  void the_layout_text_draws_each_array_as_jax_does() {
    const ExportSource source = made_source("parallax_decoder", false);
    const Plan& plan = *source.plan;
    const std::string text = exported_text(source, "layout");
    for (const ParameterPlan& parameter : plan.parameters) {
      const std::string drawing = visualize_sharding(parameter.sharding, plan.mesh, parameter.shape);
      QVERIFY(text.find(parameter.path.back() + " f32 " + to_string(parameter.shape) + "\n" + drawing) !=
              std::string::npos);
    }
  }

  void a_kind_that_needs_no_plan_writes_the_same_without() {
    for (const ExportKind& kind : export_kinds()) {
      if (kind.needs_plan) continue;
      const ExportSource source = made_source("tiny_lm_fsdp", false);
      QCOMPARE(exported_text({nullptr, {}, {}, document_of(*source.plan)}, kind.name),
               exported_text(source, kind.name));
    }
    QVERIFY(!find_export_kind("jax").needs_plan);
  }

  void the_lines_of_a_run_are_those_that_training_writes() {
    const ExportSource source = made_source("tiny_lm_dp");
    std::string lines;
    for (const Message& message : made_messages(*source.plan)) {
      if (auto* step = std::get_if<StepMessage>(&message)) lines += json_line(*step);
      if (auto* restart = std::get_if<RestartMessage>(&message)) lines += json_line(*restart);
    }
    QCOMPARE(exported_text(source, "jsonl"), lines);
  }

  void what_is_of_a_run_is_refused_for_a_plan_alone() {
    const ExportSource source = made_source("tiny_lm_dp", false);
    const QTemporaryDir folder;
    for (const ExportKind& kind : export_kinds()) {
      if (!kind.needs_run) continue;
      QCOMPARE(failure_code([&] { exported_text(source, kind.name); }), std::string("no_run"));
    }
  }

  void a_page_that_a_kind_does_not_have_is_refused() {
    QCOMPARE(failure_code([] { exported_text(made_source("tiny_lm_dp"), "csv", {"memry"}); }),
             std::string("unknown_page"));
    QCOMPARE(failure_code([] { exported_text(made_source("tiny_lm_dp"), "specs", {"memory"}); }),
             std::string("unknown_page"));
  }

  void what_lasts_tells_how_far_it_is_and_ends_when_it_is_asked_to_data() {
    QTest::addColumn<std::string>("kind");
    QTest::addColumn<std::string>("page");
    each_page([](const ExportKind& kind, const std::string& page) {
      QTest::newRow((kind.name + " " + page).c_str()) << kind.name << page;
    });
  }
  void what_lasts_tells_how_far_it_is_and_ends_when_it_is_asked_to() {
    QFETCH(std::string, kind);
    QFETCH(std::string, page);
    const ExportSource& source = large_source();
    const QTemporaryDir folder;
    std::vector<double> reported;
    std::stop_source stop;
    ExportTarget::Options options;
    options.on_progress = [&](double share) { reported.push_back(share); };
    options.report_every = std::chrono::milliseconds(0);
    export_source(find_export_kind(kind), source, {page}, folder.filePath("whole.tfevents").toStdString(), options);
    const bool copies_nothing = find_export_kind(kind).form() == ExportTarget::Form::folder;  // its data are made
    QCOMPARE(reported.empty(), copies_nothing);
    QVERIFY(std::ranges::is_sorted(reported));
    QVERIFY(reported.empty() || (reported.front() >= 0 && reported.back() <= 1));
    options.stop = stop.get_token();
    options.on_progress = [&](double) { stop.request_stop(); };
    if (reported.empty()) stop.request_stop();
    QVERIFY_EXCEPTION_THROWN(
        export_source(find_export_kind(kind), source, {page}, folder.filePath("x.tfevents").toStdString(), options),
        Cancelled);
    QCOMPARE(QDir(folder.path()).entryList(QDir::AllEntries | QDir::NoDotAndDotDot), QStringList{"whole.tfevents"});
  }

  // The limit of a file's size stands in for a full disk, which only root can make (full_disk_test.cpp).
  void where_a_file_cannot_grow_it_is_said_and_what_was_there_stays() {
    const QTemporaryDir folder;
    const ExportSource source = made_source("tiny_text");
    for (const ExportKind& kind : export_kinds()) {
      if (is_drawn(kind)) continue;
      fs::remove_all(folder.filePath("old.tfevents").toStdString());
      const std::string fresh = folder.filePath("fresh.tfevents").toStdString(),
                        old = folder.filePath("old.tfevents").toStdString();
      const std::string inside = kind.extension.empty() ? old + "/run.json" : old;
      if (kind.extension.empty()) fs::create_directory(old);
      std::ofstream(inside) << "old";
      ExportTarget::Options force;
      force.existing = Existing::overwrite;
      for (const std::string& path : {fresh, old}) {
        const Error error = failure_of([&] {
          const SmallFiles small;
          export_source(kind, source, {}, path, force);
        });
        QCOMPARE(error.code, std::string("unwritable_file"));
        QVERIFY2(error.place.file.starts_with(path), to_string(error).c_str());
      }
      QCOMPARE(QDir(folder.path()).entryList(QDir::AllEntries | QDir::NoDotAndDotDot), QStringList{"old.tfevents"});
      QCOMPARE(text_of(inside), std::string("old"));
    }
  }

  void the_run_file_is_never_written_over() {
    const QTemporaryDir folder;
    const std::string input = folder.filePath("run.tfevents.json").toStdString();
    fs::copy_file(preset_path("tiny_lm_dp"), input);
    ExportSource source = made_source("tiny_lm_dp");
    source.inputs = {input};
    for (const ExportKind& kind : export_kinds()) {
      if (kind.extension.empty()) continue;
      ExportTarget::Options force;
      force.existing = Existing::overwrite;
      QCOMPARE(failure_code([&] { export_source(kind, source, {}, input, force); }), std::string("output_is_input"));
    }
    QCOMPARE(text_of(input), text_of(preset_path("tiny_lm_dp")));
  }

  void a_recorded_run_is_a_source_with_all_that_was_reported() {
    for (const char* preset : {"tiny_lm_dp", "workshop_interleaved"}) {
      const std::shared_ptr<const Plan> plan = preset_plan(preset);
      const QTemporaryDir folder;
      const std::string path = folder.filePath("record").toStdString();
      record(*plan, path);
      const ExportSource source = recorded_source(path);
      QCOMPARE(source.plan->hash, plan->hash);
      const ExportSource made = made_source(preset);
      for (const char* kind : {"perfetto", "jsonl", "csv"})
        QCOMPARE(exported_text(source, kind), exported_text(made, kind));
      for (const char* page : {"run", "timeline"})
        QCOMPARE(exported_text(source, "csv", {page}), exported_text(made, "csv", {page}));
    }
  }

  void a_record_whose_run_file_gives_another_plan_is_refused() {
    const QTemporaryDir folder;
    const std::string path = folder.filePath("record").toStdString();
    record(*preset_plan("tiny_lm_dp"), path);
    RunConfig other = document_of(*preset_plan("tiny_lm_dp"));
    other.seed += 1;
    std::ofstream(path + "/run_file.json") << write_run_config(other);
    try {
      recorded_source(path);
      QFAIL("it was read");
    } catch (const Failure& failure) {
      QCOMPARE(failure.errors().front().code, std::string("record_version"));
      QCOMPARE(failure.errors().front().place.file, path + "/run_file.json");
    }
  }

  void a_headless_folder_is_verified_wherever_it_is_data() { each_preset(); }
  void a_headless_folder_is_verified_wherever_it_is() {
    QFETCH(std::string, preset);
    const QTemporaryDir folder;
    const std::string here = folder.filePath("here").toStdString(), there = folder.filePath("there").toStdString();
    export_source(find_export_kind("slurm"), made_source(preset, false), {}, here, {});
    QVERIFY(!check_headless(here).empty());
    fs::rename(here, there);
    QVERIFY(!check_headless(there).empty());
    QVERIFY(text_of(there + "/run.json").find(SHARDSCOPE_SOURCE_DIR) == std::string::npos);
  }

  // However their paths are spelled: two folders of one name, with slashes at the end, or the file alone.
  void a_headless_folder_has_the_data_of_the_run_path_by_path_data() {
    QTest::addColumn<std::string>("kind");
    QTest::addColumn<std::string>("data");
    QTest::addColumn<std::string>("kept");
    for (const DataKind& kind : all_data_kinds()) {
      if (!kind.identify_files) continue;
      const auto add = [&](const std::string& data, const std::string& kept) {
        QTest::addRow("%s %s %s", kind.name.c_str(), data.c_str(), kept.c_str()) << kind.name << data << kept;
      };
      add("tok/", "val/");
      add("tok", "val");
      add("tok//", "other/tok");
      add("tok/.", "val/..//val/");
      add("tok/..", "val/");
      add("tok/a.bin", "val/a.bin");
    }
  }
  void a_headless_folder_has_the_data_of_the_run_path_by_path() {
    QFETCH(std::string, kind);
    QFETCH(std::string, data);
    QFETCH(std::string, kept);
    const QTemporaryDir folder, out;
    const std::string base = folder.path().toStdString() + "/", to = out.filePath("x").toStdString();
    for (const char* name : {"tok/a.bin", "tok/b/a.bin", "val/a.bin", "val/c.bin", "other/tok/a.bin"}) {
      fs::create_directories(fs::path(base + name).parent_path());
      std::ofstream file(base + name);
      for (int i = 0; i < 512; ++i) file << fmt::format("{:<16}", name);
    }
    const RunConfig config = with_settings(
        load_run_file(preset_path("tiny_text")),
        {"data.kind=" + kind, "data.path=" + base + data, "data.validation=0", "data.validation_path=" + base + kept});
    const ExportSource source{
        std::make_shared<const Plan>(compile({config, reference_host()})), {}, input_paths(config), {}};
    export_source(find_export_kind("headless"), source, {}, to, {});
    const auto contents = [](const std::string& path) {
      std::vector<std::pair<std::string, std::string>> found;
      const TokenFiles files = find_token_files(path, 1, "");
      for (const TokenFiles::File& file : files.files)
        found.emplace_back(fs::is_directory(path) ? file.name : "", text_of(file.path));
      return found;
    };
    const std::vector<std::string> before = data_paths(config), after = data_paths(load_run_file(to + "/run.json"));
    QCOMPARE(before.size(), size_t{2});
    QCOMPARE(after.size(), before.size());
    for (size_t i = 0; i < before.size(); ++i) {
      QVERIFY2(after[i].starts_with(to + "/data/"), after[i].c_str());
      QVERIFY2(contents(after[i]) == contents(before[i]), after[i].c_str());
    }
  }

  void a_changed_headless_folder_is_refused() {
    const QTemporaryDir folder;
    const std::string path = folder.filePath("x").toStdString();
    const ExportKind& kind = find_export_kind("headless");
    const auto change = [&](const char* file, const char* from, const char* to) {
      std::string text = text_of(path + file);
      QVERIFY2(text.find(from) != std::string::npos, text.c_str());
      text.replace(text.find(from), strlen(from), to);
      std::ofstream(path + file) << text;
    };
    const auto after = [&](const char* file, const char* from, const char* to) {
      fs::remove_all(path);
      export_source(kind, made_source("tiny_lm_dp", false), {}, path, {});
      change(file, from, to);
      return failure_code([&] { check_headless(path); });
    };
    QCOMPARE(after("/run.json", "\"seed\": 42", "\"seed\": 43"), std::string("other_plan"));
    QCOMPARE(after("/machine.json", "\"instruction_latency\": ", "\"instruction_latency\": 1"),
             std::string("other_plan"));
    QCOMPARE(after("/plan.json", "\"version\":\"", "\"version\":\"9"), std::string("other_version"));
    QCOMPARE(after("/plan.json", "\"plan_hash\"", "\"planhash\""), std::string("bad_export"));
    QCOMPARE(failure_code([&] { check_headless(path + "/none"); }), std::string("unreadable_file"));
    fs::remove(path + "/plan.json");
    QCOMPARE(::mkfifo((path + "/plan.json").c_str(), 0600), 0);
    QCOMPARE(failure_code([&] { check_headless(path); }), std::string("unreadable_file"));
  }
};

REGISTER_CORE_TEST(ExportKindTest)

}  // namespace export_kind_test

#include "export_kind_test.moc"
