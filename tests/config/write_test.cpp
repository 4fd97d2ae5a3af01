#include "engine/config/write.h"

#include <sys/stat.h>
#include <unistd.h>

#include <QDir>
#include <QTemporaryDir>
#include <QTest>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "engine/config/parse.h"
#include "tests/base/errors_of.h"
#include "tests/config/random_config.h"
#include "tests/test_program.h"

namespace write_test {

using namespace shardscope;
namespace fs = std::filesystem;

namespace {

std::string read(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

fs::path preset(const std::string& name) { return fs::path(SHARDSCOPE_SOURCE_DIR) / "presets" / (name + ".json"); }

std::vector<std::string> presets() {
  std::vector<std::string> names;
  for (const fs::directory_entry& file : fs::directory_iterator(preset("x").parent_path())) {
    if (file.path().extension() == ".json") names.push_back(file.path().stem());
  }
  return names;
}

std::string code_of(const auto& action) { return error_of(action).code; }

// Every key that a run file may have, in the order in which it is written; with a strategy, and without one.
const std::string written_keys = R"({
  "version": 2,
  "model": {
    "name": "m",
    "layers": 2,
    "adapters": {"rank": 8}
  },
  "mesh": {
    "axes": [{"name": "data", "size": 2}, {"name": "stages", "size": 2}],
    "devices": [3, 2, 1, 0]
  },
  "sharding": {
    "mode": "as_written",
    "in": ["data", null],
    "out": [],
    "parameters": {
      "params": {
        "a": {
          "kernel": ["data"]
        }
      }
    },
    "constraints": {
      "**/gelu": ["data", null]
    },
    "rules": [
      {"names": ["a", "b/*"], "spec": [["data", "stages"]]},
      {
        "axes": {"mlp": "data", "embed": null},
        "dimensions": ["mlp", "embed"],
        "of": ["states", "inputs"]
      },
      {"largest": "data", "minimum_bytes": 64, "of": "optimizer"}
    ],
    "zero": {"stage": 1, "axis": "data"},
    "keep": ["data"],
    "memory_limit_mib": 512
  },
  "data": {"kind": "d"},
  "optimizer": {"name": "o", "rate": 1.0},
  "precision": {
    "compute": "f8",
    "parameters": "bf16",
    "master": "f32",
    "gradients": "f16",
    "reduction": "f32",
    "moments": "f32"
  },
  "schedule": {
    "microbatches": 4,
    "rematerialise": ["mlp", "**/ln"],
    "rematerialised_layers": 2,
    "overlap": "off"
  },
  "pipeline": {
    "axis": "stages",
    "schedule": "gpipe",
    "chunks": 1,
    "layers": [1, 1]
  },
  "lint": {
    "off": {"z": "first", "a": "second"}
  },
  "machine": {
    "name": "host",
    "levels": {
      "network": {"latency": 1e-05}
    }
  },
  "stack": "megatron",
  "hosts": "h0:4",
  "seed": 0,
  "steps": 10,
  "deterministic": false
}
)";

const std::string written_strategy = R"({
  "version": 2,
  "model": {"name": "m"},
  "strategy": {
    "data": 2,
    "tensor": 2,
    "pipeline": 2,
    "virtual_stages": 2,
    "pipeline_schedule": "interleaved",
    "context": 2,
    "expert": 2,
    "sequence_parallel": true,
    "zero": 1,
    "microbatch_size": 2,
    "recompute": ["mlp", "**/ln"],
    "order": ["pipeline", "data"]
  },
  "data": {"kind": "d", "batch_size": 16},
  "precision": "bf16_mixed",
  "schedule": {"rematerialised_layers": 2, "overlap": "auto"},
  "pipeline": {
    "layers": [1, 1, 1, 1]
  },
  "seed": 0,
  "steps": 10,
  "deterministic": true
}
)";

}  // namespace

class WriteTest : public QObject {
  Q_OBJECT

 private slots:
  void presets_are_written_back_byte_for_byte() {
    for (const std::string& name : presets()) {
      const RunConfig config = load_run_config(preset(name));
      QCOMPARE(write_run_config(config), read(preset(name)));
    }
  }

  // The hash of a plan covers these bytes.
  void every_key_is_written_in_its_place() {
    for (const std::string& text : {written_keys, written_strategy}) {
      const std::string written = write_run_config(parse_run_config(text, "keys.json"));
      QVERIFY2(written == text, written.c_str());
    }
  }

  void what_was_written_reads_back_equal() {
    test::RandomConfigs configs(1);
    size_t parameters = 0;
    for (int i = 0; i < 3000; ++i) {
      const RunConfig config = configs.next();
      parameters += config.sharding.parameters.size();
      const std::string text = write_run_config(config);
      const RunConfig again = parse_run_config(text, "random.json");
      QVERIFY2(again == config, text.c_str());
      QCOMPARE(write_run_config(again), text);
    }
    QVERIFY(parameters > 3000);
  }

  void every_spec_stands_on_one_line() {
    RunConfig config = load_run_config(preset("parallax_decoder"));
    config.sharding.parameters[0].spec.dims = {{"data", "model"}, {}, {"x"}};
    const std::string text = write_run_config(config);
    QVERIFY(text.find(R"("embedding": [["data", "model"], null, "x"])") != std::string::npos);
    QVERIFY(text.find(R"("pos_embedding": [null, "model"])") != std::string::npos);
  }

  void every_rule_and_constraint_stands_on_one_line() {
    RunConfig config = load_run_config(preset("parallax_decoder"));
    config.sharding.constraints = {{"**/gelu", {{{"data"}, {}, {"model"}}}}};
    config.sharding.rules = {{"params/Block_*/kernel", PartitionSpec{{{"model"}, {}}}, {SpecKind::parameter}},
                             {"**",
                              LogicalAxes{{{"mlp", {"model"}}, {"heads", {"data", "model"}}}},
                              {SpecKind::state, SpecKind::activation}},
                             {"**", LargestDimension{{"data"}, 64}, {SpecKind::optimizer_state}}};
    const std::string text = write_run_config(config);
    for (const char* line :
         {R"(      "**/gelu": ["data", null, "model"])",
          R"(      {"names": "params/Block_*/kernel", "spec": ["model", null]},)",
          R"(      {"axes": {"mlp": "model", "heads": ["data", "model"]}, "of": ["states", "activations"]},)",
          R"(      {"largest": "data", "minimum_bytes": 64, "of": "optimizer"})"})
      QVERIFY2(text.find("\n" + std::string(line) + "\n") != std::string::npos, text.c_str());
  }

  void what_no_file_can_say_is_refused() {
    const RunConfig good = load_run_config(preset("parallax_decoder"));
    RunConfig config = good;
    config.optimizer.options[0].second = std::numeric_limits<double>::infinity();
    QCOMPARE(code_of([&] { write_run_config(config); }), std::string("not_finite"));
    config = good;
    config.model.options.push_back({"name", std::string("twice")});
    QCOMPARE(code_of([&] { write_run_config(config); }), std::string("duplicate_key"));
    config = good;
    config.model.name = "\xff";
    QCOMPARE(code_of([&] { write_run_config(config); }), std::string("not_utf8"));
    const std::vector<std::vector<std::string>> paths = {
        {}, {"params"}, {"params", "Embed_0", "embedding"}, {"params", "Embed_0", "embedding", "inner"}};
    for (const std::vector<std::string>& path : paths) {
      config = good;
      config.sharding.parameters.push_back({path, {}});
      QCOMPARE(code_of([&] { write_run_config(config); }), std::string("parameter_path"));
    }
  }

  void a_set_spec_keeps_the_order_of_the_file() {
    for (const std::string& name : presets()) {
      const RunConfig whole = load_run_config(preset(name));
      for (const ParameterSpec& parameter : whole.sharding.parameters) {
        RunConfig config = whole;
        std::erase(config.sharding.parameters, parameter);
        set_parameter_spec(config.sharding, parameter.path, PartitionSpec{{{"x"}}});
        QVERIFY(parse_run_config(write_run_config(config), "") == config);
        set_parameter_spec(config.sharding, parameter.path, parameter.spec);
        QCOMPARE(config.sharding.parameters.size(), whole.sharding.parameters.size());
        QCOMPARE(std::count(config.sharding.parameters.begin(), config.sharding.parameters.end(), parameter), 1);
      }
    }
  }

  void a_saved_file_loads_equal_and_leaves_nothing_beside_it() {
    QTemporaryDir folder;
    const fs::path path = fs::path(folder.path().toStdString()) / "run.json";
    test::RandomConfigs configs(2);
    for (int i = 0; i < 5; ++i) {
      const RunConfig config = configs.next();
      save_run_config(config, path);
      QVERIFY(load_run_config(path) == config);
    }
    QCOMPARE(std::distance(fs::directory_iterator(folder.path().toStdString()), fs::directory_iterator()), 1);
  }

  // Of another user than root, who may write to everything.
  void a_read_only_file_is_not_replaced() {
    QTemporaryDir folder;
    const fs::path file = folder.filePath("run.json").toStdString();
    std::ofstream(file) << "mine";
    fs::permissions(file, fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read);
    fs::permissions(folder.path().toStdString(), fs::perms::all);
    constexpr uid_t nobody = 65534;
    const bool is_root = geteuid() == 0;
    if (is_root) QCOMPARE(seteuid(nobody), 0);
    const std::string code = code_of([&] { replace_file(file, "other"); });
    if (is_root) QCOMPARE(seteuid(0), 0);
    QCOMPARE(code, std::string("unwritable_file"));
    QCOMPARE(read(file), std::string("mine"));
    QCOMPARE(QDir(folder.path()).entryList(QDir::Files).size(), 1);
  }

  void an_existing_file_keeps_permissions_and_link() {
    QTemporaryDir folder;
    const fs::path target = fs::path(folder.path().toStdString()) / "target.json";
    const fs::path link = fs::path(folder.path().toStdString()) / "link.json";
    test::RandomConfigs configs(3);
    save_run_config(configs.next(), target);
    fs::permissions(target, fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read);
    fs::create_symlink("target.json", link);
    const RunConfig config = configs.next();
    save_run_config(config, link);
    QVERIFY(fs::is_symlink(link));
    QVERIFY(load_run_config(target) == config);
    QVERIFY(fs::status(target).permissions() ==
            (fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read));
  }

  void a_save_that_fails_leaves_the_folder_as_it_was() {
    QTemporaryDir folder;
    const fs::path root = folder.path().toStdString();
    const RunConfig good = test::RandomConfigs(4).next();
    QCOMPARE(code_of([&] { save_run_config(good, root / "none" / "run.json"); }), std::string("unwritable_file"));
    fs::create_directories(root / "taken.json" / "inner");
    QCOMPARE(code_of([&] { save_run_config(good, root / "taken.json"); }), std::string("unwritable_file"));
    RunConfig bad = good;
    bad.model.options.emplace_back("nan", std::numeric_limits<double>::quiet_NaN());
    save_run_config(good, root / "run.json");
    QCOMPARE(code_of([&] { save_run_config(bad, root / "run.json"); }), std::string("not_finite"));
    QVERIFY(load_run_config(root / "run.json") == good);
    QCOMPARE(std::distance(fs::directory_iterator(root), fs::directory_iterator()), 2);
  }
};

REGISTER_TEST(WriteTest)

}  // namespace write_test

#include "write_test.moc"
