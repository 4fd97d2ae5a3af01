#include "engine/config/parse.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <QTemporaryDir>
#include <QTest>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "engine/config/write.h"
#include "tests/base/errors_of.h"
#include "tests/config/random_config.h"
#include "tests/test_program.h"

namespace parse_test {

using namespace shardscope;
namespace fs = std::filesystem;

namespace {

const fs::path preset_folder = fs::path(SHARDSCOPE_SOURCE_DIR) / "presets";

std::string preset_text() {
  std::ifstream file(preset_folder / "parallax_decoder.json");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<Error> parse_errors(const std::string& text) {
  return errors_of([&] { parse_run_config(text, "f"); });
}

Error load_error(const fs::path& path) {
  return error_of([&] { load_run_config(path); });
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  return at == std::string::npos ? "" : text.replace(at, from.size(), to);
}

// A legal file, each value on a line of its own.
const std::string legal = R"({
"model": {"name": "m",
  "layers": 2},
"mesh": {"axes": [
  {"name": "data", "size": 2},
  {"name": "model", "size": 2}]},
"sharding": {
  "mode": "fastest",
  "in": ["data", null],
  "parameters": {"params": {
    "a": {"kernel": ["data"]}}}},
"data": {"kind": "d"},
"optimizer": {"name": "o"},
"seed": 0,
"steps": 1
})";

struct BadFile {
  std::string from, to;
  std::vector<std::string> errors;  // "where code", with a part of the hint behind it
};

const std::vector<BadFile> bad_files = {
    {"\"size\": 2", "\"size\": \"four\"", {"f:5: mesh.axes[0].size wrong_type"}},
    {"\"size\": 2", "\"size\": 4.0", {"f:5: mesh.axes[0].size wrong_type"}},
    {"\"size\": 2", "\"size\": 0", {"f:5: mesh.axes[0].size axis_size"}},
    {"\"size\": 2",
     "\"size\": -3, \"colour\": 1",
     {"f:5: mesh.axes[0].colour unknown_key known: name, size", "f:5: mesh.axes[0].size axis_size"}},
    {"\"size\": 2", "\"sise\": 2", {"f:5: mesh.axes[0].sise unknown_key 'size'"}},
    {"{\"name\": \"data\", \"size\": 2}", "3", {"f:5: mesh.axes[0] wrong_type"}},
    {"\"name\": \"data\"", "\"name\": null", {"f:5: mesh.axes[0].name wrong_type"}},
    {"\"name\": \"data\"", "\"name\": \"\"", {"f:5: mesh.axes[0].name axis_name"}},
    {"\"name\": \"model\"", "\"name\": \"data\"", {"f:6: mesh.axes[1].name duplicate_axis"}},
    {"\"size\": 2}]", "\"size\": 99999999999999999999}]", {"f:6: mesh.axes[1].size out_of_range"}},
    {"\"size\": 2}]", "\"size\": 9999999999}]", {"f:4: mesh.axes device_count"}},
    {"2}]}", "2}], \"devices\": [0, 1, 2]}", {"f:6: mesh.devices device_order 0..3"}},
    {"2}]}", "2}], \"devices\": [0, 1, 2, 2]}", {"f:6: mesh.devices device_order"}},
    {"2}]}",
     "2}], \"devices\": [0, -1, \"a\", 2]}",
     {"f:6: mesh.devices[1] out_of_range", "f:6: mesh.devices[2] wrong_type"}},
    {"\"seed\": 0,\n", "", {"f:1: seed missing_key \"seed\": 0"}},
    {"\"seed\": 0", "\"seed\": -1", {"f:14: seed out_of_range 0 to 9223372036854775807"}},
    {"\"seed\": 0", "\"seed\": 9223372036854775808", {"f:14: seed out_of_range"}},
    {"\"seed\": 0", "\"seed\": 1e3", {"f:14: seed wrong_type"}},
    {"\"seed\": 0", "\"seed\": 0, \"sead\": 1", {"f:14: sead unknown_key 'seed'"}},
    {"\"seed\": 0", "\"seed\": 0,\n\"seed\": 0", {"f:15: seed duplicate_key first on line 14"}},
    {"\"steps\": 1", "\"steps\": 0", {"f:15: steps out_of_range 1 to"}},
    {"\"steps\": 1",
     "\"steps\": true, \"deterministic\": 1",
     {"f:15: steps wrong_type", "f:15: deterministic wrong_type"}},
    {"\"layers\": 2",
     "\"layers\": [\"a\", 2], \"x\": null, \"y\": {}",
     {"f:3: model.layers[1] wrong_type", "f:3: model.x wrong_type", "f:3: model.y wrong_type"}},
    {"\"layers\": 2", "\"layers\": 2, \"layers\": 3", {"f:3: model.layers duplicate_key first on line 3"}},
    {"\"layers\": 2", "\"layers\": 9223372036854775808", {"f:3: model.layers out_of_range"}},
    {"\"kind\": \"d\"", "\"name\": \"d\"", {"f:12: data.kind missing_key data source"}},
    {"\"name\": \"o\"", "\"name\": \"\"", {"f:13: optimizer.name empty_name"}},
    {"\"name\": \"o\"", "\"name\": 1", {"f:13: optimizer.name wrong_type"}},
    {"\"optimizer\": {\"name\": \"o\"}", "\"optimizer\": \"adam\"", {"f:13: optimizer wrong_type"}},
    {"\"fastest\"", "\"fastes\"", {"f:8: sharding.mode unknown_mode 'fastest'"}},
    {"\"fastest\"", "2", {"f:8: sharding.mode wrong_type as_written"}},
    {"[\"data\", null]", "\"data\"", {"f:9: sharding.in wrong_type write [\"data\"]"}},
    {"[\"data\", null]", "null", {"f:9: sharding.in wrong_type write []"}},
    {"[\"data\", null]",
     "[1, {}, [null, \"\"], \"\"]",
     {"f:9: sharding.in[0] wrong_type", "f:9: sharding.in[1] wrong_type", "f:9: sharding.in[2][0] wrong_type",
      "f:9: sharding.in[2][1] empty_name", "f:9: sharding.in[3] empty_name"}},
    {"[\"data\"]", "\"data\"", {"f:11: sharding.parameters.params.a.kernel wrong_type write [\"data\"]"}},
    {"[\"data\"]", "true", {"f:11: sharding.parameters.params.a.kernel wrong_type"}},
    {"{\"kernel\": [\"data\"]}",
     "{\"kernel\": [3], \"kernel\": [], \"\": [], \"x.y\": 1}",
     {"f:11: sharding.parameters.params.a.kernel duplicate_key",
      "f:11: sharding.parameters.params.a.kernel[0] wrong_type", "f:11: sharding.parameters.params.a[\"\"] empty_name",
      "f:11: sharding.parameters.params.a[\"x.y\"] wrong_type"}},
    {"{\"params\": {\n    \"a\": {\"kernel\": [\"data\"]}}}", "[]", {"f:10: sharding.parameters wrong_type"}},
    {"\"mode\"",
     "\"mesh_axes\": [\"model\", \"data\"], \"mode\"",
     {"f:8: sharding.mesh_axes mesh_axes mesh.axes says [\"data\", \"model\"]"}},
    {"\"mode\"", "\"mesh_axes\": [\"data\"], \"mode\"", {"f:8: sharding.mesh_axes mesh_axes"}},
    {"\"mode\"", "\"mesh_axes\": [\"data\", 1], \"mode\"", {"f:8: sharding.mesh_axes[1] wrong_type"}},
    {"\"mode\"", "\"constraints\": [], \"mode\"", {"f:8: sharding.constraints wrong_type **/gelu"}},
    {"\"mode\"",
     "\"constraints\": {\"a/b\": \"data\",\n\"\": []}, \"mode\"",
     {"f:8: sharding.constraints.a/b wrong_type write [\"data\"]", "f:9: sharding.constraints[\"\"] empty_name"}},
    {"\"mode\"", "\"rules\": {}, \"mode\"", {"f:8: sharding.rules wrong_type"}},
    {"\"mode\"",
     "\"rules\": [{\"names\": [], \"spec\": []}, {\"names\": [\"\", 2], \"spec\": []}, {\"names\": 1, \"spec\": "
     "[]}],\n\"mode\"",
     {"f:8: sharding.rules[0].names out_of_range", "f:8: sharding.rules[1].names[0] empty_name",
      "f:8: sharding.rules[1].names[1] wrong_type", "f:8: sharding.rules[2].names wrong_type"}},
    {"\"mode\"",
     "\"rules\": [3, {},\n{\"spec\": [], \"largest\": \"data\"}, {\"spec\": []}], \"mode\"",
     {"f:8: sharding.rules[0] wrong_type", "f:8: sharding.rules[1] missing_key \"largest\"",
      "f:9: sharding.rules[2].largest two_placements make it two rules", "f:9: sharding.rules[3].names missing_key"}},
    {"\"mode\"",
     "\"rules\": [{\"axis\": {\"mlp\": null}}, {\"names\": \"a\", \"specs\": []}], \"mode\"",
     {"f:8: sharding.rules[0].axis unknown_key 'axes'", "f:8: sharding.rules[1].specs unknown_key 'spec'"}},
    {"\"mode\"",
     "\"rules\": [{\"axes\": {\"mlp\": 1}, \"of\": \"activation\", \"minimum_bytes\": 1},\n"
     "{\"names\": \"\", \"largest\": [], \"minimum_bytes\": -1, \"of\": []}], \"mode\"",
     {"f:8: sharding.rules[0].minimum_bytes unknown_key known: names, axes, dimensions, of",
      "f:8: sharding.rules[0].axes.mlp wrong_type", "f:8: sharding.rules[0].of unknown_kind 'activations'",
      "f:9: sharding.rules[1].names empty_name", "f:9: sharding.rules[1].largest wrong_type",
      "f:9: sharding.rules[1].minimum_bytes out_of_range", "f:9: sharding.rules[1].of out_of_range"}},
    {"\"steps\": 1",
     "\"steps\": 1, \"schedule\": {\"rematerialise\": 5}",
     {"f:15: schedule.rematerialise wrong_type **/gelu"}},
    {"\"steps\": 1",
     "\"steps\": 1, \"schedule\": {\"rematerialise\": \"\"}",
     {"f:15: schedule.rematerialise empty_name"}},
    {"\"steps\": 1",
     "\"steps\": 1, \"schedule\": {\"rematerialise\": []}",
     {"f:15: schedule.rematerialise out_of_range"}},
    {"\"steps\": 1",
     "\"steps\": 1, \"schedule\": {\"rematerialise\": [\"mlp\",\n2, \"\"]}",
     {"f:16: schedule.rematerialise[1] wrong_type", "f:16: schedule.rematerialise[2] empty_name"}},
    {"\"mode\"", "\"memory_limit_mib\": 0, \"mode\"", {"f:8: sharding.memory_limit_mib out_of_range 1 to"}},
    {legal, "[]", {"f:1 wrong_type"}},
    {legal, "\n7", {"f:2 wrong_type"}},
    {legal,
     "{}",
     {"f:1: model missing_key", "f:1: mesh missing_key", "f:1: sharding missing_key", "f:1: data missing_key",
      "f:1: seed missing_key", "f:1: steps missing_key"}},
    {legal, "", {"f:1:1 empty_file JSON object"}},
    {legal, " \n\t", {"f:1:1 empty_file"}},
    {"\"steps\": 1\n", "\"steps\": 1,\n", {"f:16:1 syntax remove the comma"}},
    {"\"seed\": 0,", "\"seed\": 0", {"f:15:1 syntax near: \"steps\": 1"}},
    {"\"seed\": 0", "\"seed\": NaN", {"f:14:9 syntax not finite"}},
    {"\"seed\": 0", "\"seed\": 1e999", {"f:14:9 number_range"}},
    {"[\"data\", null]", "P('data', None)", {"f:9:9 syntax [\"data\", null]"}},
    {"[\"data\", null]", "[\"data\", None]", {"f:9:18 syntax null"}},
    {"\"fastest\"", "'fastest'", {"f:8:11 syntax double quotes"}},
    {"\"fastest\",", "\"fastest\", // best", {"f:8:22 syntax comments"}},
    {"\"steps\": 1\n}", "\"steps\": 1\n}}", {"f:16:2 syntax"}},
    {"\"steps\": 1\n}", "\"steps\": 1\n", {"f:16:1 truncated its end lacks }"}},
    {"\"steps\": 1\n}", "\"steps\": [{\"a", {"f:15:14 truncated lacks }]}"}},
    {legal, std::string(100, '['), {"f:1:65 nesting 64"}},
    {"\"m\"", "\"\xff\"", {"f:2:20 syntax"}},
    {"\"m\"", std::string("\"m\"\0", 4), {"f:2:22 syntax"}},
};

}  // namespace

class ParseTest : public QObject {
  Q_OBJECT

 private slots:
  void the_legal_file_has_the_values_it_says() {
    const RunConfig config = parse_run_config(legal, "f");
    QCOMPARE(config.model.name, std::string("m"));
    QVERIFY(*config.model.find("layers") == OptionValue(int64_t{2}));
    QVERIFY(config.model.find("name") == nullptr);
    QVERIFY(config.mesh_axes == (std::vector<MeshAxis>{{"data", 2}, {"model", 2}}));
    QVERIFY(config.mesh_devices.empty());
    QVERIFY(config.sharding.in == (PartitionSpec{{{"data"}, {}}}));
    QVERIFY(config.sharding.out == PartitionSpec{});
    QVERIFY(config.sharding.parameters == (std::vector<ParameterSpec>{{{"params", "a", "kernel"}, {{{"data"}}}}}));
    QCOMPARE(parameter_place(config.sharding.parameters[0]), std::string("sharding.parameters.params.a.kernel"));
    QVERIFY(config.deterministic && config.sharding.mode == LayoutMode::fastest);
    QCOMPARE(config.steps, 1);
  }

  void every_bad_file_gives_all_its_errors_at_their_places() {
    for (const BadFile& bad : bad_files) {
      const std::string text = replaced(legal, bad.from, bad.to);
      QVERIFY2(text != legal && (!text.empty() || bad.to.empty()), bad.from.c_str());
      const std::vector<Error> errors = parse_errors(text);
      const std::string shown = bad.to + "\n" + (errors.empty() ? "no error" : Failure(errors).what());
      QVERIFY2(errors.size() == bad.errors.size(), shown.c_str());
      for (size_t i = 0; i < errors.size(); ++i) {
        const std::string place = to_string(errors[i].place) + " " + errors[i].code;
        QVERIFY2(bad.errors[i].starts_with(place), (shown + "\n" + place).c_str());
        const std::string hint = bad.errors[i].substr(std::min(place.size() + 1, bad.errors[i].size()));
        QVERIFY2(errors[i].hint.find(hint) != std::string::npos, shown.c_str());
        QVERIFY2(!errors[i].message.empty(), shown.c_str());
      }
    }
  }

  void messages_say_what_was_expected_and_what_is_there() {
    QCOMPARE(to_string(parse_errors(replaced(legal, "\"size\": 2", "\"size\": \"four\""))[0]),
             std::string("f:5: mesh.axes[0].size: expected an integer, got \"four\""));
    QCOMPARE(to_string(parse_errors(replaced(legal, "\"steps\"", "\"stepps\""))[0]),
             std::string("f:15: stepps: unknown key 'stepps' (did you mean 'steps'?)"));
  }

  void a_misspelt_key_is_one_error() {
    const std::string with_strategy = R"({
"model": {"name": "m"},
"strategy": {"data": 2, "pipeline": 2},
"pipeline": {"layers": [3, 1]},
"data": {"kind": "d"},
"seed": 0,
"steps": 1
})";
    int misspelt = 0;
    for (const std::string& text : {legal, with_strategy}) {
      QVERIFY(parse_errors(text).empty());
      for (const char* key : {"model", "strategy", "mesh", "axes", "size", "sharding", "mode", "in", "parameters",
                              "pipeline", "data", "optimizer", "seed", "steps"}) {
        const std::string quoted_key = fmt::format("\"{}\": ", key);
        if (text.find(quoted_key) == std::string::npos) continue;
        const std::string word = key;
        for (const std::string& wrong : {word + "x", "x" + word, word.substr(1), word.substr(0, word.size() - 1)}) {
          const std::vector<Error> errors = parse_errors(replaced(text, quoted_key, fmt::format("\"{}\": ", wrong)));
          const std::string shown = wrong + "\n" + Failure(errors).what();
          QVERIFY2(errors.size() == 1 && errors[0].code == "unknown_key", shown.c_str());
          QVERIFY2(errors[0].hint.find("'" + word + "'") != std::string::npos, shown.c_str());
          ++misspelt;
        }
      }
    }
    QVERIFY(misspelt > 60);
  }

  void errors_of_many_places_come_together() {
    std::string text = legal;
    for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{{"\"size\": 2", "\"size\": 0"},
                                                                                   {"\"layers\": 2", "\"layers\": {}"},
                                                                                   {"[\"data\"]", "\"data\""},
                                                                                   {"\"fastest\"", "\"fast\""},
                                                                                   {"\"seed\": 0", "\"seed\": \"0\""},
                                                                                   {"\"steps\": 1", "\"stips\": 1"},
                                                                                   {"\"kind\"", "\"kint\""}}) {
      text = replaced(text, from, to);
    }
    QCOMPARE(parse_errors(text).size(), size_t{7});
  }

  void repeated_keys_are_errors_wherever_they_stand() {
    const std::string text = preset_text();
    int repeated = 0;
    for (size_t at = text.find("\": "); at != std::string::npos; at = text.find("\": ", at + 1)) {
      const size_t start = text.rfind('"', at - 1);
      const std::string twice =
          text.substr(0, start) + text.substr(start, at + 1 - start) + ": [],\n" + text.substr(start);
      const std::vector<Error> errors = parse_errors(twice);
      QVERIFY(std::any_of(errors.begin(), errors.end(), [](const Error& e) { return e.code == "duplicate_key"; }));
      ++repeated;
    }
    QVERIFY(repeated > 50);
  }

  void the_documents_own_notation_is_the_sharding_part() {
    const RunConfig config = parse_run_config(preset_text(), "f");
    const std::string parallax =
        replaced(preset_text(), "\"mode\": \"fastest\"", "\"mesh_axes\": [\"data\", \"model\"]");
    QVERIFY(parse_run_config(parallax, "f") == config);
    QVERIFY(write_run_config(config).find("mesh_axes") == std::string::npos);
  }

  void one_axis_may_stand_in_brackets_and_none_as_an_empty_list() {
    const RunConfig bare = parse_run_config(legal, "f");
    QVERIFY(parse_run_config(replaced(legal, "[\"data\", null]", "[[\"data\"], []]"), "f") == bare);
  }

  void every_truncation_of_a_preset_is_reported_as_such() {
    std::string text = preset_text();
    while (text.back() == '\n') text.pop_back();
    for (size_t length = 0; length < text.size(); ++length) {
      const std::vector<Error> errors = parse_errors(text.substr(0, length));
      QVERIFY(errors.size() == 1);
      QCOMPARE(errors[0].code, std::string(length == 0 ? "empty_file" : "truncated"));
      QVERIFY(!errors[0].place.empty() && !errors[0].hint.empty());
    }
    QVERIFY(parse_errors(text).empty());
  }

  void any_bytes_give_a_config_that_survives_writing_or_located_errors() {
    const std::string text = preset_text();
    test::RandomConfigs random(7);
    const std::string marks =
        "{}[]\",:0-9.eE \n\\ntf\xff\x80\0"
        "a";
    int accepted = 0;
    for (int round = 0; round < 4000; ++round) {
      std::string mutant = text;
      for (int i = 1 + random.below(3); i > 0; --i) {
        const size_t at = static_cast<size_t>(random.below(static_cast<int>(mutant.size())));
        const char byte = random.below(2) ? marks[static_cast<size_t>(random.below(static_cast<int>(marks.size())))]
                                          : static_cast<char>(random.below(256));
        switch (random.below(4)) {
          case 0: mutant[at] = byte; break;
          case 1: mutant.insert(at, 1, byte); break;
          case 2: mutant.erase(at, static_cast<size_t>(1 + random.below(20))); break;
          default: mutant.insert(at, mutant.substr(static_cast<size_t>(random.below(1000)), 30));
        }
      }
      try {
        const RunConfig config = parse_run_config(mutant, "f");
        QVERIFY(parse_run_config(write_run_config(config), "f") == config);
        ++accepted;
      } catch (const Failure& failure) {
        QVERIFY(!failure.errors().empty());
        for (const Error& error : failure.errors())
          QVERIFY(to_string(error.place).starts_with("f:") && !error.message.empty());
      }
    }
    QVERIFY(accepted > 20 && accepted < 3000);
  }

  void files_that_cannot_be_read_are_reported_with_what_is_near() {
    Error error = load_error(preset_folder / "paralax_decoder.json");
    QCOMPARE(error.code, std::string("missing_file"));
    QVERIFY(error.hint.find("'parallax_decoder.json'") != std::string::npos);
    error = load_error(preset_folder);
    QCOMPARE(error.code, std::string("directory"));
    QVERIFY(error.hint.find("parallax_decoder.json") != std::string::npos);
    error = load_error(preset_folder / "none" / "x.json");
    QCOMPARE(error.code, std::string("missing_file"));
    QVERIFY(error.hint.find("no folder") != std::string::npos);
    QCOMPARE(load_error(preset_folder / "parallax_decoder.json" / "x").code, std::string("missing_file"));
    QTemporaryDir folder;
    const fs::path loop = fs::path(folder.path().toStdString()) / "loop.json";
    fs::create_symlink(loop, loop);
    QCOMPARE(load_error(loop).code, std::string("unreadable_file"));
    const fs::path fifo = fs::path(folder.path().toStdString()) / "fifo.json";
    QCOMPARE(::mkfifo(fifo.c_str(), 0600), 0);
    for (const fs::path& path : {fifo, fs::path("/dev/zero")}) {
      QCOMPARE(load_error(path).code, std::string("unreadable_file"));
      QVERIFY(load_error(path).message.find("not a regular file") != std::string::npos);
    }
    const fs::path empty = fs::path(folder.path().toStdString()) / "empty.json";
    std::ofstream(empty).flush();
    QCOMPARE(load_error(empty).code, std::string("empty_file"));
    QCOMPARE(to_string(load_error(empty).place), empty.string() + ":1:1");
  }

  void a_rule_says_which_arrays_and_how_they_lie() {
    const std::string text = replaced(legal, "\"mode\"", R"("memory_limit_mib": 512,
      "constraints": {"**/gelu": ["data", null, "model"]},
      "rules": [
        {"names": "params/**/kernel", "spec": [null, "model"]},
        {"axes": {"mlp": "model", "embed": null, "heads": ["data", "model"]}, "of": ["activations", "parameters"]},
        {"largest": "data", "minimum_bytes": 4096, "of": "optimizer"}],
      "mode")");
    const ShardingConfig sharding = parse_run_config(text, "f").sharding;
    QVERIFY(sharding.memory_limit_mib == 512);
    QVERIFY(sharding.constraints == (std::vector<Constraint>{{"**/gelu", {{{"data"}, {}, {"model"}}}}}));
    QCOMPARE(sharding.rules.size(), size_t{3});
    QVERIFY(sharding.rules[0] == (SpecRule{"params/**/kernel", PartitionSpec{{{}, {"model"}}}, {SpecKind::parameter}}));
    const LogicalAxes logical{{{"mlp", {"model"}}, {"embed", {}}, {"heads", {"data", "model"}}}};
    QVERIFY(sharding.rules[1] == (SpecRule{"**", logical, {SpecKind::parameter, SpecKind::activation}}));
    QVERIFY(sharding.rules[2] == (SpecRule{"**", LargestDimension{{"data"}, 4096}, {SpecKind::optimizer_state}}));
  }

  void a_list_of_names_is_the_pattern_of_them_all_and_is_written_as_a_list() {
    const std::string rules =
        "\"rules\": [{\"names\": [\"params/A_*/kernel\", \"params/B/{query,key}/bias\"], \"spec\": []},"
        "{\"names\": [\"a\"], \"spec\": []}, {\"names\": \"x{a,b}\", \"spec\": []},"
        "{\"names\": \"{a,b\", \"spec\": []}], \"mode\"";
    const RunConfig config = parse_run_config(replaced(legal, "\"mode\"", rules), "f");
    QCOMPARE(config.sharding.rules[0].names, std::string("{params/A_*/kernel,params/B/{query,key}/bias}"));
    QCOMPARE(config.sharding.rules[1].names, std::string("a"));
    const std::string written = write_run_config(config);
    QVERIFY(written.find("\"names\": [\"params/A_*/kernel\", \"params/B/{query,key}/bias\"]") != std::string::npos);
    QVERIFY(written.find("\"names\": \"x{a,b}\"") != std::string::npos);
    QVERIFY(parse_run_config(written, "f") == config);
  }

  void cheapest_is_the_former_name_of_mode_fastest() {
    const RunConfig config = parse_run_config(replaced(legal, "\"fastest\"", "\"cheapest\""), "f");
    QVERIFY(config.sharding.mode == LayoutMode::fastest);
    QVERIFY(write_run_config(config).find("\"mode\": \"fastest\"") != std::string::npos);
  }

  void a_list_of_what_is_made_again_is_one_pattern_and_is_written_as_a_list() {
    const auto file = [](const std::string& names) {
      return replaced(legal, "\"steps\": 1", "\"steps\": 1, \"schedule\": {\"rematerialise\": " + names + "}");
    };
    for (const auto& [names, pattern, is_list] :
         std::vector<std::tuple<std::string, std::string, bool>>{{"\"mlp\"", "mlp", false},
                                                                 {"[\"mlp\"]", "mlp", false},
                                                                 {"[\"mlp\", \"**/ln1/**\"]", "{mlp,**/ln1/**}", true},
                                                                 {"\"{mlp,**/ln1/**}\"", "{mlp,**/ln1/**}", true},
                                                                 {"[\"a/{b,c}\", \"d\"]", "{a/{b,c},d}", true},
                                                                 {"\"a/{b,c}\"", "a/{b,c}", false}}) {
      const RunConfig config = parse_run_config(file(names), "f");
      QCOMPARE(config.schedule.rematerialise, pattern);
      const std::string written = write_run_config(config);
      QCOMPARE(written.find("\"rematerialise\": [") != std::string::npos, is_list);
      QVERIFY(parse_run_config(written, "f") == config);
    }
  }

  void a_file_without_an_optimizer_names_none() {
    const RunConfig config = parse_run_config(replaced(legal, "\"optimizer\": {\"name\": \"o\"},\n", ""), "f");
    QVERIFY(config.optimizer == NamedOptions{});
    QVERIFY(write_run_config(config).find("optimizer") == std::string::npos);
  }

  void what_no_person_writes_is_refused_at_its_place_and_not_repeated() {
    auto list = [](const std::string& item, int count) {
      std::string text;
      for (int i = 0; i < count; ++i) text += (i ? "," : "") + item;
      return text;
    };
    std::string members;
    for (int i = 0; i < 20000; ++i) members += "\"" + std::to_string(i) + "\": 1,";
    const std::string name = "\"" + std::string(100000, 'x') + "\"", digits(100000, '1');
    for (const std::string& value : {name, digits, digits + "e" + digits, "{" + name + ": 1}",
                                     "[" + list("[]", 300000) + "]", "{" + members + "\"\": 0}"}) {
      const std::vector<Error> errors = parse_errors("{\n\"colour\": " + value + "}");
      QCOMPARE(errors.size(), size_t{1});
      QCOMPARE(errors[0].code, std::string("too_long"));
      QCOMPARE(errors[0].place.line, 2);
      QVERIFY(to_string(errors[0]).size() < 200);
    }
  }

  void a_spec_without_end_is_one_error() {
    std::string names;
    for (int i = 0; i < 50000; ++i) names += (i ? "," : "") + ("\"a" + std::to_string(i) + "\"");
    for (const std::string& spec : {"[" + names + "]", "[[" + names + "]]"}) {
      const std::vector<Error> errors = parse_errors(replaced(legal, "\"mode\"", "\"out\": " + spec + ", \"mode\""));
      QCOMPARE(errors.size(), size_t{1});
      QCOMPARE(errors[0].code, std::string("too_long"));
    }
  }

  void later_errors_get_the_line_of_their_path() {
    const std::vector<Error> located = locate_errors({{"c", "m", "sharding.parameters.params.a.kernel[0]", ""},
                                                      {"c", "m", "model.missing", ""},
                                                      {"c", "m", "mesh.axes[1].size", ""},
                                                      {"c", "m", on_rank(3), ""},
                                                      {"c", "m", "", ""}},
                                                     legal, "f");
    const std::string with_rules =
        replaced(legal, "\"mode\"", "\"rules\": [\n{\"axes\": {\n\"mlp\": \"x\"}}],\n\"mode\"");
    QCOMPARE(to_string(locate_errors({{"c", "m", "sharding.rules[0].axes.mlp", ""}}, with_rules, "f")[0].place),
             std::string("f:10: sharding.rules[0].axes.mlp"));

    const std::vector<std::string> expected = {"f:11: sharding.parameters.params.a.kernel[0]", "f:2: model.missing",
                                               "f:6: mesh.axes[1].size", "rank 3", ""};
    for (size_t i = 0; i < expected.size(); ++i) QCOMPARE(to_string(located[i].place), expected[i]);
  }
};

REGISTER_TEST(ParseTest)

}  // namespace parse_test

#include "parse_test.moc"
