#include "engine/lint/lint.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <optional>

#include "engine/compile/document_of.h"
#include "tests/fuzz/program_call.h"
#include "tests/fuzz/targets/targets.h"
#include "tests/lint/planted.h"

namespace shardscope::fuzz {

namespace {

// Besides those that plant a fault; most presets take most of them.
const std::vector<std::string> lint_settings{
    R"(mesh.axes=[{"name":"data","size":2},{"name":"model","size":4}])",
    R"(mesh.axes=[{"name":"data","size":2},{"name":"model","size":2},{"name":"pipeline","size":2}])",
    R"(mesh.axes=[])",
    R"(strategy={"data":2,"tensor":2,"microbatch_size":1})",
    R"(strategy={"fsdp":2,"pipeline":2,"virtual_stages":2,"pipeline_schedule":"interleaved"})",
    R"(strategy={"data":2,"expert":2,"zero":2,"recompute":"selective"})",
    R"(strategy={"context":4,"sequence_parallel":true,"tensor":2,"recompute":"full"})",
    R"(pipeline={"axis":"pipeline","schedule":"1f1b","chunks":1,"layers":[]})",
    R"(pipeline.schedule="zero_bubble")",
    "pipeline.chunks=2",
    "schedule.microbatches=2",
    R"(schedule.rematerialise="full")",
    R"(schedule.rematerialise="attention")",
    R"(schedule.overlap="off")",
    "sharding.zero.stage=3",
    R"(sharding.mode="fastest")",
    R"(sharding.mode="as_written")",
    "sharding.memory_limit_mib=2",
    R"(sharding.in=["data"])",
    "sharding.in=[]",
    "sharding.out=[]",
    R"(sharding.rules=[{"names":"**","spec":["data"]}])",
    R"(sharding.rules=[{"axes":{"embed":"data","mlp":"model","heads":"model","vocab":["data","model"]}}])",
    R"(sharding.rules=[{"names":"**","largest":{"axes":["data"],"from":0},"of":["optimizer_state"]}])",
    R"(sharding.constraints={"**":[["data","model"]]})",
    "data.batch_size=8",
    "precision=bf16_mixed",
    "optimizer=null",
    R"(optimizer={"name":"sgd","learning_rate":0.1})",
    "model.num_layers=1",
    "model.overrides.num_hidden_layers=1",
    R"(model.lora={"rank":2})",
    R"(model.frozen=["**"])",
    "stack=megatron",
};

// Each number is another small one, one time of three.
std::string with_other_numbers(const std::string& setting, Random& random) {
  static const std::vector<std::string> numbers{"1", "1", "2", "2", "3", "4", "4", "6", "8", "16", "64"};
  const auto is_digit = [](char character) { return std::isdigit(static_cast<unsigned char>(character)) != 0; };
  const size_t value = setting.find('=') + 1;
  std::string text = setting.substr(0, value);
  for (size_t at = value; at < setting.size();) {
    size_t end = at + 1;
    while (is_digit(setting[at]) && end < setting.size() && is_digit(setting[end])) ++end;
    text += is_digit(setting[at]) && random.one_in(3) ? random.of(numbers) : setting.substr(at, end - at);
    at = end;
  }
  return text;
}

// The preset with those settings that leave it legal.
RunConfig legal_run(const std::vector<std::string>& words) {
  RunConfig config = load_run_file(SHARDSCOPE_SOURCE_DIR "/presets/" + words.at(1) + ".json");
  for (size_t i = 2; i < words.size(); ++i) {
    try {
      RunConfig changed = with_settings(config, {words[i]});
      if (validate(changed).empty()) config = std::move(changed);
    } catch (const Failure&) {
    }
  }
  return config;
}

// Nothing where it cannot be planned.
std::optional<Plan> plan_of(const std::vector<std::string>& words) {
  try {
    return compile({legal_run(words), words[0].empty() ? reference_host() : chosen_machine(words[0], {})});
  } catch (const Failure&) {
    return std::nullopt;
  }
}

std::string fault_of_finding(const std::string& rule, const std::string& message, double seconds,
                             const std::string& text) {
  if (message.empty()) return rule + " says nothing";
  if (!std::isfinite(seconds)) return rule + " costs no number of seconds: " + message;
  return fault_of_shown_text(text);
}

std::string fault_of_rules(const Plan& plan) {
  const RunConfig config = document_of(plan);
  const LintSubject subject(plan, config);
  for (const LintRule& rule : lint_rules()) {
    for (const Fault& fault : find_faults(rule, subject)) {
      const std::string wrong = fault_of_finding(rule.name, fault.message, fault.seconds, fault.message + fault.no_fix);
      if (!wrong.empty()) return wrong;
    }
  }
  return "";
}

std::string fault_of_fixes(const Plan& plan) {
  for (const shardscope::Finding& finding : lint(plan).findings) {
    const std::string text = to_string(to_error(finding)) + cost_text(finding);
    const std::string wrong = fault_of_finding(finding.rule, finding.message, finding.seconds, text);
    if (!wrong.empty()) return wrong;
    if (finding.fix && finding.fix->settings.empty()) return finding.rule + " has a fix that changes nothing";
  }
  return "";
}

}  // namespace

// A machine, a preset and settings of it: what rules of lint find in the plan, and for one in 32 the fixes.
Target linted_runs() {
  Target target;
  target.name = "lint";
  target.dearness = 8;
  for (const test::Planted& one : test::planted_faults()) {
    std::vector<std::string> words{one.machine, one.preset};
    words.insert(words.end(), one.sound.begin(), one.sound.end());
    words.insert(words.end(), one.planted.begin(), one.planted.end());
    target.corpus.push_back(input_of(words));
  }
  target.mutate = [corpus = target.corpus](const std::string& input, Random& random) {
    std::vector<std::string> words = words_of(input);
    if (random.one_in(3)) words[0] = words_of(random.of(corpus))[0];
    while (words.size() > 2 && random.one_in(3)) words.erase(words.begin() + 2 + random.below(words.size() - 2));
    for (size_t i = 2; i < words.size(); ++i) words[i] = with_other_numbers(words[i], random);
    do words.push_back(with_other_numbers(random.of(lint_settings), random));
    while (!random.one_in(3));
    return input_of(words);
  };
  target.run = [](const std::string& input) {
    const std::optional<Plan> plan = plan_of(words_of(input));
    if (!plan) return Answer{true, ""};
    const std::string fault = fault_of_rules(*plan);
    const bool fixes = fault.empty() && std::hash<std::string>()(input) % 32 == 0;
    return Answer{false, fixes ? fault_of_fixes(*plan) : fault};
  };
  return target;
}

}  // namespace shardscope::fuzz
