#include "engine/search/search.h"
#include "engine/search/conclusion.h"

#include <fmt/format.h>

#include <QDir>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <stop_token>

#include "engine/compile/compile.h"
#include "engine/config/strategy.h"
#include "engine/machine/chosen_machine.h"
#include "engine/plan/memory_limit.h"
#include "engine/plan/schedules/schedule.h"
#include "engine/plan/utilisation.h"
#include "engine/search/layer_bound.h"
#include "engine/search/search_json.h"
#include "engine/search/search_record.h"
#include "tests/base/errors_of.h"
#include "tests/compile/system_preset.h"
#include "tests/test_program.h"

namespace search_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

SearchRequest request_of(const std::string& preset, const std::string& machine, int64_t devices) {
  const SystemPreset& system = system_preset(preset);
  SearchRequest request;
  request.plan = {system_run(system.name, system.small, {1, 1}), chosen_machine(machine, {})};
  request.devices = devices;
  return request;
}

// Every candidate planned.
std::vector<Found> brute_force(const SearchRequest& request) {
  std::vector<Found> found;
  int index = 0;
  for (const Candidate& candidate : candidates(model_limits(request.plan.config), request.devices, request.fixed)) {
    std::optional<Found> planned = plan_candidate(request, candidate, {});
    if (planned) {
      planned->index = index;
      found.push_back(std::move(*planned));
    }
    ++index;
  }
  return found;
}

std::vector<int> indices(const std::vector<Found>& found) {
  std::vector<int> list;
  for (const Found& each : found) list.push_back(each.index);
  return list;
}

}  // namespace

class SearchTest : public QObject {
  Q_OBJECT

  static void each_space() {
    QTest::addColumn<std::string>("preset");
    QTest::addColumn<std::string>("machine");
    QTest::addColumn<int>("devices");
    QTest::addColumn<QStringList>("fixed");
    const QStringList some = {"order=megatron", "microbatch_size=2,4", "pipeline_schedule=1f1b"};
    QTest::newRow("llama 2") << std::string("llama_tiny") << std::string("\"dgx_h100\"") << 2 << some;
    QTest::newRow("llama 4 tensor") << std::string("llama_tiny") << std::string("\"dgx_a100_80gb\"") << 4
                                    << some + QStringList{"context=1", "fsdp=1"};
    QTest::newRow("gpt2 4 no pipeline") << std::string("nnx_gpt2") << std::string("\"tpu_v5e\"") << 4
                                        << some + QStringList{"pipeline=1", "recompute=none,full"};
    QTest::newRow("mixtral 4 experts") << std::string("mixtral_tiny") << std::string("\"dgx_h100\"") << 4
                                       << some + QStringList{"pipeline=1", "context=1", "recompute=none"};
    QTest::newRow("layers without attention")
        << std::string("workshop_gpipe") << std::string("\"dgx_h100\"") << 4 << some;
    QTest::newRow("qwen3 8 pipeline") << std::string("qwen3_tiny") << std::string("") << 8
                                      << some + QStringList{"context=1", "fsdp=1", "recompute=none", "zero=0,1"};
  }

 private slots:
  void a_search_of_every_preset_ends_with_a_result_or_a_located_failure_data() {
    QTest::addColumn<std::string>("path");
    const QDir folder(SHARDSCOPE_SOURCE_DIR "/presets");
    for (const QString& name : folder.entryList({"*.json"}))
      QTest::newRow(qPrintable(name)) << folder.filePath(name).toStdString();
  }
  void a_search_of_every_preset_ends_with_a_result_or_a_located_failure() {
    QFETCH(std::string, path);
    SearchRequest request;
    request.devices = 2;
    request.plan = {for_devices(load_run_file(path), 2), chosen_machine("\"dgx_h100\"", {})};
    request.result_when_stopped = true;
    std::stop_source stopped;
    stopped.request_stop();
    const std::vector<Error> errors = errors_of([&] { search(request, stopped.get_token()); });
    const bool is_split = model_limits(request.plan.config).layers > 0;
    QCOMPARE(errors.empty(), is_split);
    for (const Error& error : errors) QCOMPARE(error.place.path, std::string("model.name"));
  }

  void fixed_values_are_refused_exactly_where_they_leave_no_candidate() {
    for (const char* preset : {"llama_tiny", "mixtral_tiny", "workshop_gpipe"}) {
      const ModelLimits limits =
          model_limits(load_run_file(std::string(SHARDSCOPE_SOURCE_DIR "/presets/") + preset + ".json"));
      for (const int64_t devices : {1, 4, 6, 8}) {
        QVERIFY(errors_of([&] { refuse_fixed(limits, devices, {}); }).empty());
        const bool any = !candidates(limits, devices, {}).empty();
        for (const char* key :
             {"data", "fsdp", "tensor", "context", "expert", "pipeline", "microbatch_size", "virtual_stages"}) {
          for (int64_t value = 1; value <= 9; ++value) {
            FixedNumbers fixed, padded;
            fix(fixed, fmt::format("{}={}", key, value));
            fix(padded, fmt::format("{}=0{}", key, value));
            QVERIFY(fixed == padded);
            const std::vector<Error> errors = errors_of([&] { refuse_fixed(limits, devices, fixed); });
            QCOMPARE(!errors.empty(), any && candidates(limits, devices, fixed).empty());
            if (errors.empty()) continue;
            QCOMPARE(to_string(errors.front().place), fmt::format("--fix {}={}", key, value));
            QVERIFY(!errors.front().message.empty() && !errors.front().hint.empty());
          }
        }
      }
    }
  }

  void the_front_and_the_fastest_are_those_of_planning_every_candidate_data() { each_space(); }
  void the_front_and_the_fastest_are_those_of_planning_every_candidate() {
    QFETCH(std::string, preset);
    QFETCH(std::string, machine);
    QFETCH(int, devices);
    QFETCH(QStringList, fixed);
    SearchRequest request = request_of(preset, machine, devices);
    for (const QString& text : fixed) fix(request.fixed, text.toStdString());
    const std::vector<Found> all = brute_force(request);
    QVERIFY(all.size() >= 10 && all.size() <= 2000);
    const Bounds bounds(request.plan, request.devices);
    LayerBounds layers(request.plan, request.devices);
    for (const Found& found : all) {
      const Candidate& candidate = found.candidate;
      std::vector<Bound> of = {bounds.of(candidate)};
      for (const ProfileKind kind : profile_kinds) of.push_back(layers.of(candidate, kind));
      for (const Bound& bound : of) {
        QVERIFY2(bound.seconds <= found.seconds * (1 + 1e-9), text_of(candidate).c_str());
        QVERIFY2(bound.memory_bytes <= found.memory_bytes, text_of(candidate).c_str());
      }
    }
    for (size_t i = 0; i < all.size(); i += all.size() / 8) {
      const Plan plan = compile({run_of(request.plan.config, all[i].candidate), request.plan.machine});
      QVERIFY(all[i].seconds == plan.totals.seconds_per_step);
      QVERIFY(all[i].memory_bytes == static_cast<double>(plan.totals.device_bytes));
      QVERIFY(all[i].exposed_share == plan.simulation.most_exposed() / all[i].seconds);
      QVERIFY(all[i].bubble == plan.simulation.bubble);
      QVERIFY(all[i].mfu == utilisation(plan).mfu());
    }
    std::vector<Found> by_time = all;
    std::ranges::sort(by_time, [](const Found& a, const Found& b) {
      return std::tie(a.seconds, a.memory_bytes, a.index) < std::tie(b.seconds, b.memory_bytes, b.index);
    });
    by_time = fastest_of(by_time, 10);
    for (const Found& one : by_time) {
      const auto costs_the_same = [&](const Found& other) {
        Candidate reordered = other.candidate;
        reordered.strategy.order = one.candidate.strategy.order;
        return reordered == one.candidate && other.seconds == one.seconds && other.memory_bytes == one.memory_bytes;
      };
      QCOMPARE(std::ranges::count_if(by_time, costs_the_same), 1);
    }
    for (const int threads : {1, 3}) {
      request.threads = threads;
      const SearchResult result = search(request);
      QCOMPARE(indices(result.front), indices(pareto_front(all)));
      QCOMPARE(indices(result.fastest), indices(by_time));
      QCOMPARE(result.gap, 0.0);
      const SearchSpaceCounts& space = result.space;
      QCOMPARE(space.too_large + space.too_slow + space.dominated + space.planned + space.open, space.candidates);
    }
  }

  // Machines and spaces at random: rates, links, what overlaps, which numbers are fixed.
  void bounds_are_below_plans_and_the_front_is_exact_on_random_machines_data() {
    QTest::addColumn<int>("seed");
    for (int seed = 1; seed <= 16; ++seed) QTest::addRow("%d", seed) << seed;
  }
  void bounds_are_below_plans_and_the_front_is_exact_on_random_machines() {
    QFETCH(int, seed);
    std::mt19937 random(static_cast<uint32_t>(seed));
    const auto one_of = [&](const std::vector<std::string>& list) { return list[random() % list.size()]; };
    SearchRequest request = request_of(one_of({"llama_tiny", "nnx_gpt2", "qwen3_tiny", "mixtral_tiny"}),
                                       one_of({"\"dgx_h100\"", "\"tpu_v5e\"", "\"dgx_a100_40gb\""}), 8);
    request.plan.config.stack = one_of({"", "\"megatron\"", "\"torchtitan\"", "\"nanotron\""});
    const auto times = [&](double& number) { number *= std::exp2(static_cast<double>(random() % 13) - 6); };
    Machine& machine = request.plan.machine;
    for (Level& level : machine.levels) times(level.bytes_per_second);
    for (auto& [precision, rate] : machine.device.products) times(rate.flops_per_second);
    if (random() % 2) machine.overlap.clear();
    machine.device.instruction_latency = random() % 2 ? 1e-6 : 0;
    fix(request.fixed, "microbatch_size=" + one_of({"1", "2", "4"}));
    fix(request.fixed, "recompute=" + one_of({"none", "selective", "full"}));
    fix(request.fixed, "fsdp=" + one_of({"1", "2"}));
    fix(request.fixed, "pipeline=" + one_of({"1", "2", "1,2"}));
    fix(request.fixed, "context=" + one_of({"1", "2"}));
    const std::vector<Found> all = brute_force(request);
    if (all.empty()) return;
    QVERIFY(all.size() <= 2000);
    const Bounds bounds(request.plan, request.devices);
    LayerBounds layers(request.plan, request.devices);
    for (const Found& found : all) {
      for (const Bound& bound :
           {bounds.of(found.candidate), layers.of(found.candidate, ProfileKind::proportional),
            layers.of(found.candidate, ProfileKind::coarse), layers.of(found.candidate, ProfileKind::own)}) {
        QVERIFY2(bound.seconds <= found.seconds * (1 + 1e-9), text_of(found.candidate).c_str());
        QVERIFY2(bound.memory_bytes <= found.memory_bytes, text_of(found.candidate).c_str());
      }
    }
    std::vector<Found> within = all;
    const MachinePrices prices(machine, 8);
    const auto limit = static_cast<double>(memory_limit(request.plan.config.sharding, prices));
    std::erase_if(within, [&](const Found& found) { return found.memory_bytes > limit; });
    QCOMPARE(indices(search(request).front), indices(pareto_front(within)));
  }

  void what_is_stopped_gives_what_was_found() {
    SearchRequest request = request_of("llama_tiny", "\"dgx_h100\"", 8);
    request.result_when_stopped = true;
    std::stop_source source;
    const SearchResult result = search(request, source.get_token(), [&](const SearchProgress& progress) {
      if (progress.found->size() >= 10) source.request_stop();
    });
    QVERIFY(result.stopped && !result.front.empty() && result.space.open > 0);
    request.result_when_stopped = false;
    bool is_cancelled = false;
    try {
      search(request, source.get_token());
    } catch (const Cancelled&) {
      is_cancelled = true;
    }
    QVERIFY(is_cancelled);
  }

  // Also of what was planned while it was being stopped, or by the search that this one continues.
  void what_is_reported_last_is_the_result_of_a_stopped_search() {
    SearchRequest request = request_of("llama_tiny", "\"dgx_h100\"", 4);
    SearchRecord record;
    request.record = &record;
    search(request);
    request.result_when_stopped = true;
    std::stop_source stop;
    std::vector<Found> reported;
    const SearchResult result = search(request, stop.get_token(), [&](const SearchProgress& progress) {
      reported = *progress.found;
      stop.request_stop();
    });
    QVERIFY(result.stopped);
    const auto index = [](const Found& found) { return found.index; };
    QVERIFY(std::ranges::equal(pareto_front(reported), result.front, {}, index, index));
  }

  void usual_strategies_are_planned_first() {
    SearchRequest request = request_of("llama_tiny", "\"dgx_h100\"", 64);
    request.result_when_stopped = true;
    std::stop_source source;
    std::vector<Candidate> first;
    search(request, source.get_token(), [&](const SearchProgress& progress) {
      if (!first.empty()) return;
      for (const Found& found : *progress.found) first.push_back(found.candidate);
      if (!first.empty()) source.request_stop();
    });
    QVERIFY(!first.empty());
    for (const auto& [strategy, mode] : first) {
      QVERIFY(strategy.tensor <= 8 && strategy.sequence_parallel == (strategy.tensor > 1));
      QVERIFY(strategy.order.empty() && strategy.pipeline_schedule == "1f1b");
    }
  }

  // What is done until a report, single changes of the best among it, does not depend on who does it.
  void a_search_that_ends_early_is_the_same_with_any_number_of_threads() {
    SearchRequest request = request_of("llama_tiny", "\"dgx_h100\"", 8);
    fix(request.fixed, "recompute=none");
    request.result_when_stopped = true;
    const auto ended_behind = [&](int threads, int reports) {
      request.threads = threads;
      std::stop_source stop;
      std::vector<int> found;
      int seen = 0;
      search(request, stop.get_token(), [&](const SearchProgress& progress) {
        if (++seen != reports) return;
        found = indices(*progress.found);
        stop.request_stop();
      });
      return found;
    };
    for (const int reports : {1, 3, 8}) {
      const std::vector<int> alone = ended_behind(1, reports);
      QVERIFY(!alone.empty());
      QCOMPARE(ended_behind(3, reports), alone);
    }
  }

  void a_search_that_was_stopped_and_continued_is_one_that_was_not() {
    SearchRequest request = request_of("llama_tiny", "\"dgx_h100\"", 4);
    fix(request.fixed, "recompute=none");
    const SearchResult whole = search(request);
    request.result_when_stopped = true;
    SearchRecord record;
    request.record = &record;
    int parts = 0;
    SearchResult result;
    for (bool is_stopped = true; is_stopped; ++parts) {
      QVERIFY(parts < 100);
      std::stop_source stop;
      const size_t known = record.plans.size();
      result = search(request, stop.get_token(), [&](const SearchProgress&) {
        if (record.plans.size() >= known + 16) stop.request_stop();
      });
      is_stopped = result.stopped;
      if (is_stopped) QVERIFY(record.plans.size() > known);
      record = read_record(record_text(record, request, "program"), request, "program", "record");
    }
    QVERIFY(parts > 2);
    QCOMPARE(search_json(result, request), search_json(whole, request));
    for (const auto& [index, bound] : record.bounds) QVERIFY(bound.seconds >= 0 && index.first >= 0);
  }

  void a_record_of_another_request_is_refused() {
    SearchRequest request = request_of("llama_tiny", "\"dgx_h100\"", 4);
    const std::string text = record_text({}, request, "program");
    const auto code = [&](const SearchRequest& of, const std::string& record, const std::string& program) {
      return error_of([&] { read_record(record, of, program, "record"); }).code;
    };
    QVERIFY(read_record(text, request, "program", "record").plans.empty());
    SearchRequest other = request;
    other.devices = 8;
    SearchRequest limited = request;
    limited.at_most_memory = 1e9;
    SearchRequest fixed = request;
    fix(fixed.fixed, "tensor=1");
    SearchRequest elsewhere = request;
    elsewhere.plan.machine.device.memory_bytes += 1;
    for (const SearchRequest& of : {other, limited, fixed, elsewhere})
      QCOMPARE(code(of, text, "program"), std::string("bad_search_record"));
    QCOMPARE(code(request, text, "another"), std::string("bad_search_record"));
    for (const std::string& broken : {std::string(), std::string("{}"), text.substr(0, text.size() / 2)})
      QCOMPARE(code(request, broken, "program"), std::string("bad_search_record"));
  }

  void a_record_of_the_same_file_with_another_model_description_is_refused() {
    SearchRequest request = request_of("llama_tiny", "\"dgx_h100\"", 4);
    QTemporaryDir folder;
    const std::string file = folder.filePath("config.json").toStdString();
    const auto* path = std::get_if<std::string>(request.plan.config.model.find("path"));
    QVERIFY(path);
    nlohmann::json description = nlohmann::json::parse(std::ifstream(*path + "/config.json"));
    std::ofstream(file) << description;
    for (auto& [key, value] : request.plan.config.model.options) {
      if (key == "path") value = file;
    }
    const std::string text = record_text({}, request, "program");
    QVERIFY(read_record(text, request, "program", "record").plans.empty());
    description["rms_norm_eps"] = 0.5;
    std::ofstream(file) << description;
    QCOMPARE(error_of([&] { read_record(text, request, "program", "record"); }).code, std::string("bad_search_record"));
  }

  void the_heuristic_finds_no_more_than_is_there_and_says_what_it_dropped() {
    SearchRequest request = request_of("llama_tiny", "\"dgx_h100\"", 4);
    fix(request.fixed, "microbatch_size=2");
    const SearchResult exact = search(request);
    request.heuristic = true;
    const SearchResult quick = search(request);
    QVERIFY(quick.space.planned <= exact.space.planned);
    QVERIFY(quick.fastest.front().seconds >= exact.fastest.front().seconds);
    QVERIFY(quick.fastest.front().seconds <= exact.fastest.front().seconds * 1.03);
    QVERIFY(quick.space.dropped > 0);
    QVERIFY(exact.fastest.front().seconds >= quick.fastest.front().seconds * (1 - quick.gap) * (1 - 1e-12));
    QCOMPARE(exact.space.dropped, int64_t{0});
  }

  void a_limit_leaves_out_what_is_above_it() {
    SearchRequest request = request_of("llama_tiny", "\"dgx_h100\"", 2);
    request.fixed["recompute"] = {"none"};
    request.fixed["order"] = {"megatron"};
    const SearchResult free = search(request);
    request.at_most_memory = free.fastest.front().memory_bytes - 1;
    const SearchResult limited = search(request);
    for (const std::vector<Found>* list : {&limited.front, &limited.fastest}) {
      for (const Found& found : *list) QVERIFY(found.memory_bytes <= *request.at_most_memory);
    }
    request.at_most_memory = 1;
    const SearchResult nothing = search(request);
    QVERIFY(nothing.front.empty() && nothing.fastest.empty());
    QCOMPARE(nothing.space.too_large, nothing.space.candidates);
  }

  void a_machine_whose_memory_is_not_known_limits_nothing() {
    SearchRequest request = request_of("llama_tiny", "\"dgx_h100\"", 8);
    request.budget_seconds = 1e-9;
    request.plan.machine.device.memory_bytes = 0;
    QCOMPARE(search(request).space.too_large, int64_t{0});
  }

  void what_is_left_when_the_time_is_over_has_a_gap() {
    SearchRequest request = request_of("llama_tiny", "\"dgx_h100\"", 8);
    request.budget_seconds = 1e-9;
    const SearchResult result = search(request);
    QVERIFY(result.space.open > 0);
    QVERIFY(result.gap > 0 && result.gap <= 1);
  }

  void a_stopped_search_proves_how_far_its_best_is_from_the_best() {
    SearchRequest request = request_of("llama_tiny", "\"dgx_h100\"", 4);
    fix(request.fixed, "recompute=none");
    const double best = search(request).fastest.front().seconds;
    request.result_when_stopped = true;
    bool some_open = false;
    for (const int reports : {1, 2, 5, 10}) {
      std::stop_source stop;
      int seen = 0;
      const SearchResult result = search(request, stop.get_token(), [&](const SearchProgress&) {
        if (++seen == reports) stop.request_stop();
      });
      some_open |= result.stopped && result.space.open > 0;
      if (result.fastest.empty()) continue;
      const double found = result.fastest.front().seconds;
      QVERIFY(best <= found && best >= found * (1 - result.gap) * (1 - 1e-12));
    }
    QVERIFY(some_open);
  }

  void the_json_says_what_was_dropped_and_whether_it_was_stopped() {
    SearchRequest request = request_of("llama_tiny", "\"dgx_h100\"", 4);
    fix(request.fixed, "recompute=none");
    for (const bool heuristic : {false, true}) {
      request.heuristic = heuristic;
      const SearchResult result = search(request);
      const auto json = nlohmann::json::parse(search_json(result, request));
      QCOMPARE(json.at("space").at("dropped_by_heuristic").get<int64_t>(), result.space.dropped);
      QCOMPARE(result.space.dropped > 0, heuristic);
      QVERIFY(!json.at("stopped").get<bool>());
    }
    SearchResult stopped;
    stopped.stopped = true;
    QVERIFY(nlohmann::json::parse(search_json(stopped, request)).at("stopped").get<bool>());
  }

  void only_without_open_candidates_and_guesses_is_a_result_called_exact() {
    SearchResult result;
    result.fastest.emplace_back();
    const auto is_exact = [&] { return conclusion_of(result, SearchObjective::time).starts_with("Exact"); };
    QVERIFY(is_exact());
    result.space.open = 3;
    QVERIFY(!is_exact());  // of the same objective, but perhaps smaller
    result.gap = 0.2;
    QCOMPARE(conclusion_of(result, SearchObjective::time),
             std::string("What is left could be better by 20.0 % at most."));
    result.gap = 0;
    result.space.open = 0;
    result.space.dropped = 1;
    QVERIFY(!is_exact());
    result.space.open = 3;
    const std::string both = conclusion_of(result, SearchObjective::time);
    QVERIFY(both.find("1 candidate ") != std::string::npos && both.find("3 open") != std::string::npos);
  }

  // What comes nearest is said with what it takes, in the document for scripts, too.
  void where_nothing_is_found_it_is_said_why() {
    SearchRequest request = request_of("llama_tiny", "\"dgx_h100\"", 4);
    request.at_most_seconds = 1e-9;
    const SearchResult result = search(request);
    QVERIFY(result.fastest.empty());
    const std::string why = conclusion_of(result, SearchObjective::time);
    QVERIFY2(why.starts_with("Nothing is within the limits"), why.c_str());
    QCOMPARE(why.find("nearest") != std::string::npos, result.nearest.has_value());
    QCOMPARE(nlohmann::json::parse(search_json(result, request)).at("conclusion").get<std::string>(), why);
  }

  // What was dropped counts in the gap: without it a heuristic's best would be called proved.
  void what_a_heuristic_drops_is_not_proved_to_be_worse() {
    SearchRequest request = request_of("qwen3_tiny", "\"dgx_h100\"", 8);
    request.plan.config = system_run("qwen3_tiny", {}, {1, 1});
    request.heuristic = true;
    request.objective = SearchObjective::memory;
    fix(request.fixed, "microbatch_size=1");
    const SearchResult result = search(request);
    QVERIFY(result.space.dropped > 0);
    QVERIFY(result.gap > 0);
  }

  void every_candidate_has_as_many_devices_as_there_are_and_is_named_once() {
    for (const char* preset : {"llama_tiny", "mixtral_tiny", "nnx_gpt2"}) {
      const SearchRequest request = request_of(preset, "", 8);
      const std::vector<Candidate> all = candidates(model_limits(request.plan.config), 8, {});
      QVERIFY(all.size() > 100);
      for (size_t i = 0; i < all.size(); ++i) {
        QCOMPARE(all[i].strategy.devices(), int64_t{8});
        if (i > 0) QVERIFY(all[i] != all[i - 1]);
      }
    }
  }

  // Over data alone stage 3 is fsdp; over a ring, too, a strategy of its own.
  void stage_3_is_searched_where_it_differs_from_fsdp() {
    const ModelLimits limits = model_limits(request_of("mixtral_tiny", "", 8).plan.config);
    std::map<std::pair<bool, int64_t>, int> count;  // by whether there is a ring, and stage
    for (const Candidate& one : candidates(limits, 8, {})) {
      const StrategyConfig& s = one.strategy;
      if (s.expert == 1 && s.pipeline == 1) ++count[{s.context > 1, s.zero}];
      QVERIFY(s.zero < 3 || (s.expert == 1 && s.pipeline == 1 && s.context > 1));
      QVERIFY(s.zero == 0 || (has_zero_stages(s) && s.fsdp == 1));
    }
    QCOMPARE((count[{false, 3}]), 0);
    QVERIFY((count[{true, 3}]) > 0);
    QCOMPARE((count[{true, 3}]), (count[{true, 1}]));
    FixedNumbers fixed;
    fix(fixed, "zero=3");
    const std::vector<Candidate> of_stage = candidates(limits, 8, fixed);
    QVERIFY(std::ranges::any_of(of_stage, [](const Candidate& one) { return one.strategy.data == 8; }));
    QVERIFY(std::ranges::all_of(of_stage, [](const Candidate& one) { return one.strategy.zero == 3; }));
  }

  void every_schedule_of_the_registry_is_searched() {
    ModelLimits limits = model_limits(request_of("llama_tiny", "", 4).plan.config);
    limits.layers = 8;
    const std::vector<Candidate> all = candidates(limits, 4, {});
    for (const PipelineSchedule& schedule : all_schedules()) {
      QVERIFY2(std::ranges::any_of(all,
                                   [&](const Candidate& candidate) {
                                     return candidate.strategy.pipeline > 1 &&
                                            pipeline_schedule(candidate.strategy) == schedule.name;
                                   }),
               schedule.name.c_str());
    }
    QCOMPARE(strategy_schedules().size() + 1, all_schedules().size());
  }

  // A value that is fixed leaves the candidates that have it, and those to which it is nothing.
  void a_fixed_word_leaves_what_has_it_and_what_it_does_not_concern() {
    const SearchRequest request = request_of("llama_tiny", "", 8);
    const ModelLimits limits = model_limits(request.plan.config);
    const std::vector<Candidate> all = candidates(limits, 8, {});
    const auto is_piped = [](const StrategyConfig& s) { return s.pipeline > 1; };
    const std::map<std::string, std::function<bool(const StrategyConfig&)>> laws = {
        {"sequence_parallel=true", [](const StrategyConfig& s) { return s.sequence_parallel || s.tensor == 1; }},
        {"sequence_parallel=false", [](const StrategyConfig& s) { return !s.sequence_parallel; }},
        {"pipeline_schedule=gpipe",
         [&](const StrategyConfig& s) { return !is_piped(s) || s.pipeline_schedule == "gpipe"; }},
        {"pipeline_schedule=1f1b,zero_bubble", [](const StrategyConfig& s) { return s.pipeline_schedule != "gpipe"; }},
        {"order=megatron", [](const StrategyConfig& s) { return s.order.empty(); }},
        {"order=replicas_outermost",
         [&](const StrategyConfig& s) { return !is_piped(s) || s.data * s.fsdp == 1 || !s.order.empty(); }},
        {"mode=as_written", [](const StrategyConfig&) { return true; }},
    };
    for (const auto& [text, law] : laws) {
      FixedNumbers fixed;
      fix(fixed, text);
      std::vector<Candidate> expected;
      std::ranges::copy_if(all, std::back_inserter(expected), [&](const Candidate& one) { return law(one.strategy); });
      QVERIFY2(candidates(limits, 8, fixed) == expected && !expected.empty(), text.c_str());
      QVERIFY2(text == "mode=as_written" || expected.size() < all.size(), text.c_str());
    }
    FixedNumbers fixed;
    fix(fixed, "order=tensor data");
    for (const Candidate& one : candidates(limits, 8, fixed)) {
      QVERIFY(one.strategy.order.size() <= 2 && one.strategy.devices() == 8);
      QVERIFY(plan_request(run_of(request.plan.config, one)).config.strategy);
    }
  }

  void a_number_that_is_none_is_refused_with_those_there_are() {
    for (const char* text : {"tensr=8", "tensor", "tensor=", "tensor=x", "mode=slow", "sequence_parallel=1",
                             "pipeline_schedule=1f1", "order=megatrn", "order=data tensr"}) {
      FixedNumbers fixed;
      const Error error = error_of([&] { fix(fixed, text); });
      QCOMPARE(error.code, std::string("bad_argument"));
      QVERIFY(!error.hint.empty());
    }
  }
};

REGISTER_TEST(SearchTest)

}  // namespace search_test

#include "search_test.moc"
