#include "engine/machine/machine_file.h"

#include <QTemporaryDir>
#include <QtTest>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "engine/base/input_file.h"
#include "engine/config/place.h"
#include "engine/machine/machine_keys.h"
#include "tests/base/errors_of.h"
#include "tests/config/json_schema.h"
#include "tests/machine/random_machine.h"
#include "tests/test_program.h"

namespace machine_file_test {

using namespace shardscope;
using test::accepts, test::collect, test::json;
using Kind = JsonNode::Kind;

namespace {

std::vector<Error> faults_of(const std::string& text) {
  return errors_of([&] { parse_machine(text, "f.json"); });
}

// "CODE LINE PATH; ..."
std::string described(const std::vector<Error>& errors) {
  std::string text;
  for (const Error& error : errors) {
    text += (text.empty() ? "" : "; ") + error.code + " " + std::to_string(error.place.line) + " " + error.place.path;
  }
  return text;
}

// Every key of a machine file.
const std::string full = R"({
  "name": "m", "source": "s",
  "device": {
    "kind": "host_cores", "cores": 4, "memory_bytes": 1000, "instruction_latency": 1e-6, "vector_flops": 1e9,
    "memory": [{"name": "L2", "capacity_bytes": 5, "bytes_per_second": 2e9, "shared": true, "source": "s"},
               {"name": "RAM", "bytes_per_second": 1e9}],
    "products": {"f32": {"flops_per_second": 1e9, "efficiency": [{"m": 1, "n": 2, "k": 3, "efficiency": 0.5, "source": "s"}],
                         "transposed_left": [{"m": 1, "n": 2, "k": 3, "efficiency": 0.25}], "source": "s"},
                 "bf16": {"flops_per_second": 2e9}},
    "kernels": {"gelu": {"efficiency": 0.5, "flops_per_second": {"f32": 1e9}, "source": "s"}},
    "bf16_products": "oneDNN", "source": "s"
  },
  "levels": [
    {"name": "host", "count": [4, 3], "kind": "shared_memory", "bytes_per_second": 1e9, "latency": 1e-6,
     "shared_by": "host_cores", "source": "s"},
    {"name": "rack", "count": 2, "kind": "ring", "wraps": false, "bytes_per_second": 1e9, "shared_by": "unit"},
    {"name": "ici", "count": 8, "kind": "torus", "dims": [4, 2], "bytes_per_second": 1e9, "shared_by": 2},
    {"name": "dcn", "kind": "switch", "bytes_per_second": 1e9}
  ],
  "collectives": [{"collective": "all-reduce", "level": "dcn", "up_to_bytes": 65536, "algorithm": "tree",
                   "efficiency": 0.9, "latency": 1e-6, "latency_per_member": 1e-7, "source": "s"},
                  {"algorithm": "hierarchical"}],
  "overlap": [{"stream": "compute", "beside": "dcn", "slowdown": 1.1, "beside_slowdown": 1.2, "source": "s"}]
})";

// Codes of what a schema cannot say: it takes comparing two values.
bool is_structural(const std::vector<Error>& errors) {
  static const std::set<std::string> relations = {"duplicate_name",   "unknown_level",   "level_count",
                                                  "level_dims",       "host_cores",      "memory_capacity",
                                                  "duplicate_sample", "too_many_samples"};
  return std::ranges::any_of(errors, [](const Error& error) { return !relations.contains(error.code); });
}

using Visit = std::function<void(JsonNode& object, size_t member, const std::string& place)>;
// Each member of each object.
void visit_members(JsonNode& node, const std::string& place, const Visit& visit) {
  for (size_t i = 0; i < node.items.size(); ++i) {
    const bool is_object = node.is(Kind::object);
    const std::string inner = is_object ? member_place(place, node.keys[i]) : element_place(place, i);
    if (is_object) visit(node, i, inner);
    visit_members(node.items[i], inner, visit);
  }
}

}  // namespace

class MachineFileTest : public QObject {
  Q_OBJECT

 private slots:
  void what_is_written_is_read_again() {
    test::RandomMachines machines(1);
    for (int i = 0; i < 500; ++i) {
      const Machine machine = machines.next();
      const std::string text = machine_text(machine);
      QCOMPARE(described(faults_of(text)), std::string());
      QVERIFY2(parse_machine(text, "") == machine, text.c_str());
      QCOMPARE(machine_text(parse_machine(text, "")), text);
    }
    QTemporaryDir folder;
    const std::filesystem::path path = folder.filePath("new folder/machine.json").toStdString();
    const Machine machine = machines.next();
    save_machine(machine, path);
    QVERIFY(load_machine(path) == machine);
  }

  void a_file_with_every_key_is_read() {
    QCOMPARE(described(faults_of(full)), std::string());
    const Machine machine = parse_machine(full, "");
    QCOMPARE(machine.device.memory[0].capacity_bytes, int64_t{5});
    QCOMPARE(machine.levels[0].count, (std::vector<int>{4, 3}));
    QCOMPARE(machine.levels[0].shared_by, Level::host_cores);
    QCOMPARE(machine.levels[1].shared_by, Level::whole_unit);
    QCOMPARE(machine.levels[2].dims, (std::vector<int>{4, 2}));
    QVERIFY(machine.levels[3].count.empty() && machine.levels[3].shared_by == 1);
    QVERIFY(machine.collectives[0].collective == InstructionKind::all_reduce && !machine.collectives[1].collective);
    QVERIFY(machine_text(machine).find("\"s\"") != std::string::npos);
  }

  // Any one fault of any key is one error at its place.
  void each_wrong_key_is_one_located_error() {
    JsonNode document = read_json(full, "");
    std::set<std::string> places;
    const auto check = [&](const std::string& code, const std::string& place) {
      const std::vector<Error> errors = faults_of(print_json_line(document));
      const std::string all = described(errors);
      QVERIFY2(errors.size() == 1, (all + " of " + code + " at " + place).c_str());
      QCOMPARE(errors[0].place.path, place);
      QCOMPARE(errors[0].code, code);
      QCOMPARE(errors[0].place.line, 1);
      QVERIFY2(!errors[0].hint.empty() || code == "wrong_type", all.c_str());
    };
    visit_members(document, "", [&](JsonNode& object, size_t i, const std::string& place) {
      places.insert(place);
      const JsonNode before = object;
      const JsonNode value = object.items[i];
      object.items[i] = value.is(Kind::boolean) ? JsonNode::of(2.5) : JsonNode::of(true);
      check("wrong_type", place);
      if (value.is(Kind::integer) || value.is(Kind::number)) {
        const bool is_integer = value.is(Kind::integer);
        for (const JsonNode& wrong :
             {JsonNode::of(int64_t{-1}), is_integer ? JsonNode::of(INT64_MAX) : JsonNode::of(1e300)}) {
          object.items[i] = wrong;
          check("out_of_range", place);
        }
      }
      object = before;
      object.add(object.keys[i], value);
      check("duplicate_key", place);
      object = before;
      if (!place.ends_with(".kernels.gelu")) {
        object.keys[i] += "x";
        const std::vector<Error> errors = faults_of(print_json_line(document));
        QVERIFY2(std::ranges::any_of(errors,
                                     [&](const Error& error) {
                                       return (error.code == "unknown_key" || error.code == "unknown_choice") &&
                                              error.place.path == place + "x" && error.hint.starts_with("did you mean");
                                     }),
                 (described(errors) + " of " + place).c_str());
      }
      object = before;
    });
    QVERIFY(places.size() > 60);
  }

  void each_missing_key_is_one_located_error() {
    JsonNode document = read_json(full, "");
    std::map<std::string, std::set<std::string>> missing;  // by the object without its number: what it must have
    visit_members(document, "", [&](JsonNode& object, size_t i, const std::string& place) {
      const JsonNode before = object;
      object.remove(object.keys[i]);
      const std::vector<Error> errors = faults_of(print_json_line(document));
      object = before;
      if (errors.empty() || errors[0].code != "missing_key") return;
      QVERIFY2(errors.size() == 1 && errors[0].place.path == place, (described(errors) + " of " + place).c_str());
      const size_t end = place.find_last_of(".[");
      missing[end == std::string::npos ? "" : place.substr(0, place.find('['))].insert(object.keys[i]);
    });
    const std::map<std::string, std::set<std::string>> expected = {
        {"", {"name", "device"}},
        {"collectives", {"algorithm"}},
        {"device.kind", {"kind"}},
        {"device.memory", {"name", "bytes_per_second"}},
        {"device.memory_bytes", {"memory_bytes"}},
        {"device.products", {"products"}},
        {"device.products.f32", {"f32"}},
        {"device.products.f32.efficiency", {"m", "n", "k", "efficiency"}},
        {"device.products.f32.flops_per_second", {"flops_per_second"}},
        {"device.products.bf16.flops_per_second", {"flops_per_second"}},
        {"device.products.f32.transposed_left", {"m", "n", "k", "efficiency"}},
        {"levels", {"name", "kind", "bytes_per_second"}},
        {"overlap", {"stream", "beside"}}};
    for (const auto& [object, keys] : missing) {
      QVERIFY2(expected.contains(object) && (expected.at(object) == keys || object == "device.memory"), object.c_str());
    }
    QCOMPARE(missing.size(), expected.size());
  }

  void faults_are_at_their_lines() {
    const auto changed = [](const std::string& from, const std::string& to) {
      std::string text = full;
      const size_t at = text.find(from);
      return at == std::string::npos ? "" : text.replace(at, from.size(), to);
    };
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"", "empty_file 1 "},
        {"[]", "wrong_type 1 "},
        {changed("\"cores\": 4", "\"cores\": 0"), "out_of_range 4 device.cores"},
        {changed("\"cores\": 4", "\"cors\": 4"), "unknown_key 4 device.cors"},
        {changed("\"L2\", \"capacity_bytes\": 5", "\"L2\""), "memory_capacity 5 device.memory[0].capacity_bytes"},
        {changed("\"f32\": {\"flops", "\"tf32\": {\"flops"), "missing_key 7 device.products.f32"},
        {changed("\"rack\"", "\"host\""), "duplicate_name 16 levels[1].name"},
        {changed("\"rack\"", "\"compute\""), "duplicate_name 16 levels[1].name"},
        {changed("\"count\": 2, ", ""), "level_count 16 levels[1].count"},
        {changed("\"count\": 2, ", "\"count\": [2, 1], "), "level_count 16 levels[1].count"},
        {changed("\"count\": 8, ", "\"count\": 9, "), "level_count 17 levels[2].count"},
        {changed("\"dims\": [4, 2], ", ""), "level_dims 17 levels[2].dims"},
        {changed("\"kind\": \"switch\"", "\"kind\": \"switch\", \"dims\": [2]"), "level_dims 18 levels[3].dims"},
        {changed("\"kind\": \"switch\"", "\"kind\": \"switch\", \"count\": [2, 3]"), "level_count 18 levels[3].count"},
        {changed("\"host_cores\", \"cores\"", "\"own\", \"cores\""), "host_cores 15 levels[0].shared_by"},
        {changed("\"level\": \"dcn\"", "\"level\": \"dnc\""), "unknown_level 20 collectives[0].level"},
        {changed("\"beside\": \"dcn\"", "\"beside\": \"dnc\""), "unknown_level 23 overlap[0].beside"},
        {changed("0.5, \"source\": \"s\"}", "0.5}, {\"m\": 1, \"n\": 2, \"k\": 3, \"efficiency\": 1}"),
         "duplicate_sample 7 device.products.f32.efficiency[1]"},
    };
    for (const auto& [text, fault] : cases) QCOMPARE(described(faults_of(text)), fault);
    std::string samples;
    for (int i = 1; i <= 41; ++i) {
      samples += ", {\"m\": " + std::to_string(i) + ", \"n\": " + std::to_string(i) + ", \"k\": " + std::to_string(i) +
                 ", \"efficiency\": 1}";
    }
    QCOMPARE(described(faults_of(changed("0.25}", "0.25}" + samples))),
             std::string("too_many_samples 8 device.products.f32.transposed_left"));
  }

  void an_old_device_profile_is_recognised() {
    const std::vector<Error> errors = faults_of(R"({"name": "two-core host", "cores": 2.0,
      "matrix_flops_per_core": 1e11, "memory_bytes_per_core": 8e9, "collective_bytes_per_core": 5e9,
      "collective_latency": 6e-5, "step_latency": 3e-6, "memory_bytes": 17179869184})");
    QCOMPARE(errors.size(), size_t{1});
    QCOMPARE(errors[0].code, std::string("old_profile"));
    QVERIFY(errors[0].message.find("calibrate again") != std::string::npos);
    QCOMPARE(errors[0].place.file, std::string("f.json"));
  }

  void the_schema_in_the_resources_is_that_of_the_table() {
    const std::string path = SHARDSCOPE_SOURCE_DIR "/resources/machine.schema.json";
    const std::string expected = SHARDSCOPE_BINARY_DIR "/machine.schema.json";
    std::ofstream(expected) << machine_schema();
    QVERIFY2(read_text(path, 1 << 20) == machine_schema(), ("copy " + expected + " to it").c_str());
  }

  void schema_and_reader_agree_on_any_changed_value() {
    const json schema = json::parse(machine_schema()), machine = json::parse(full);
    const std::vector<json> values = {nullptr,
                                      true,
                                      0,
                                      1,
                                      -1,
                                      2.5,
                                      1e30,
                                      "",
                                      "host_cores",
                                      "f32",
                                      "ring",
                                      "compute",
                                      json::array(),
                                      json::array({1}),
                                      json::object(),
                                      65537,
                                      9223372036854775807};
    std::vector<json::json_pointer> places;
    collect(machine, json::json_pointer(), places);
    int accepted = 0, refused = 0;
    const auto check = [&](const json& document) {
      const std::vector<Error> errors = faults_of(document.dump());
      const bool by_schema = accepts(schema, schema, document);
      if (errors.empty()) QVERIFY2(by_schema, document.dump().c_str());
      if (is_structural(errors)) QVERIFY2(!by_schema, (document.dump() + described(errors)).c_str());
      ++(by_schema ? accepted : refused);
    };
    for (const json::json_pointer& place : places) {
      for (const json& value : values) {
        json changed = machine;
        changed[place] = value;
        check(changed);
        if (!machine[place].is_object()) continue;
        changed = machine;
        changed[place]["extra"] = value;
        check(changed);
      }
      if (place.empty() || machine[place.parent_pointer()].is_array()) continue;
      json changed = machine;
      changed[place.parent_pointer()].erase(place.back());
      check(changed);
    }
    QVERIFY(accepted > 100 && refused > 1000);
    test::RandomMachines machines(2);
    for (int i = 0; i < 200; ++i) check(json::parse(machine_text(machines.next())));
  }
};

REGISTER_TEST(MachineFileTest)

}  // namespace machine_file_test

#include "machine_file_test.moc"
