#include "engine/session/messages.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/base/error.h"

namespace shardscope {

using Json = nlohmann::json;

namespace {

constexpr std::array<std::string_view, 4> end_names = {"finished", "stopped", "interrupted", "failed"};
constexpr std::array<std::string_view, 2> request_names = {"stop", "kill"};

[[noreturn]] void refuse(const std::string& what) {
  throw Failure(Error{"bad_message", what, in_file("session socket"), ""});
}

template <class Enum, size_t count>
Enum named(const std::array<std::string_view, count>& names, const std::string& text) {
  for (size_t i = 0; i < count; ++i) {
    if (names[i] == text) return static_cast<Enum>(i);
  }
  refuse("unknown name '" + text + "'");
}

// JSON has no NaN or infinity; nlohmann writes them as null.
double number(const Json& json) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}

template <class Integer>
Integer whole(const Json& json) {
  bool fits = json.is_number_unsigned() ? std::in_range<Integer>(json.get<uint64_t>())
                                        : json.is_number_integer() && std::in_range<Integer>(json.get<int64_t>());
  if (!fits) refuse("expected an integer, got " + json.dump(-1, ' ', false, Json::error_handler_t::replace));
  return json.get<Integer>();
}

std::vector<double> numbers(const Json& json) {
  std::vector<double> values;
  for (const Json& item : json.get_ref<const Json::array_t&>()) values.push_back(number(item));
  return values;
}

std::array<double, 3> by_phase(const Json& json) {
  std::vector<double> values = numbers(json);
  if (values.size() != 3) refuse("a phase table needs three numbers");
  return {values[0], values[1], values[2]};
}

template <class T, class Read>
std::vector<T> list(const Json& json, Read read) {
  std::vector<T> values;
  for (const Json& item : json.get_ref<const Json::array_t&>()) values.push_back(read(item));
  return values;
}

Phase phase_of(const Json& json) {
  auto index = whole<uint64_t>(json);
  if (index > 2) refuse("unknown phase");
  return static_cast<Phase>(index);
}

Json write(const HelloMessage& hello) {
  Json steps = Json::array();
  for (const PlanStepName& step : hello.plan_steps) steps.push_back({step.name, static_cast<int>(step.phase)});
  return {{"message", "hello"},   {"config", hello.config_json},    {"plan_hash", hello.plan_hash},
          {"ranks", hello.ranks}, {"plan_steps", std::move(steps)}, {"metrics", hello.metrics}};
}

HelloMessage read_hello(const Json& json) {
  HelloMessage hello;
  hello.config_json = json.at("config").get<std::string>();
  hello.plan_hash = whole<uint64_t>(json.at("plan_hash"));
  hello.ranks = whole<int>(json.at("ranks"));
  hello.plan_steps = list<PlanStepName>(json.at("plan_steps"), [](const Json& item) {
    return PlanStepName{item.at(0).get<std::string>(), phase_of(item.at(1))};
  });
  hello.metrics = json.at("metrics").get<std::vector<std::string>>();
  return hello;
}

Json write(const RankMeasurement& rank) {
  return {{"rank", rank.rank},
          {"arena_bytes", rank.use.arena_bytes},
          {"heap_bytes", rank.use.heap_bytes},
          {"wire_bytes", rank.use.wire_bytes},
          {"parameter_bytes", rank.use.parameter_bytes},
          {"optimizer_bytes", rank.use.optimizer_bytes},
          {"busy_ms", rank.busy_ms},
          {"wait_ms", rank.wait_ms}};
}

RankMeasurement read_measurement(const Json& json) {
  RankMeasurement rank;
  rank.rank = whole<int>(json.at("rank"));
  rank.use.arena_bytes = whole<int64_t>(json.at("arena_bytes"));
  rank.use.heap_bytes = whole<int64_t>(json.at("heap_bytes"));
  rank.use.wire_bytes = number(json.at("wire_bytes"));
  rank.use.parameter_bytes = whole<int64_t>(json.at("parameter_bytes"));
  rank.use.optimizer_bytes = whole<int64_t>(json.at("optimizer_bytes"));
  rank.busy_ms = by_phase(json.at("busy_ms"));
  rank.wait_ms = by_phase(json.at("wait_ms"));
  return rank;
}

Json write(const StepMessage& step) {
  Json ranks = Json::array();
  for (const RankMeasurement& rank : step.ranks) ranks.push_back(write(rank));
  Json json = {{"message", "step"},       {"step", step.step},         {"metrics", Json::array()},
               {"step_ms", step.step_ms}, {"ranks", std::move(ranks)}, {"plan_step_ms", step.plan_step_ms}};
  for (const MetricValue& metric : step.metrics) {
    json["metrics"].push_back(metric.name);
    json[metric.name] = metric.value;
  }
  return json;
}

StepMessage read_step(const Json& json) {
  StepMessage step;
  step.step = whole<int64_t>(json.at("step"));
  step.metrics = list<MetricValue>(json.at("metrics"), [&](const Json& name) {
    return MetricValue{name.get<std::string>(), number(json.at(name.get_ref<const std::string&>()))};
  });
  step.step_ms = number(json.at("step_ms"));
  step.ranks = list<RankMeasurement>(json.at("ranks"), read_measurement);
  step.plan_step_ms = numbers(json.at("plan_step_ms"));
  return step;
}

Json write(const RankStateMessage& rank) {
  return {{"message", "rank"}, {"rank", rank.rank}, {"state", name(rank.state)}, {"pid", rank.pid}};
}

RankStateMessage read_rank_state(const Json& json) {
  auto state = rank_state(json.at("state").get<std::string>());
  if (!state) refuse("unknown rank state");
  return {whole<int>(json.at("rank")), *state, whole<int>(json.at("pid"))};
}

Json write(const LogMessage& log) { return {{"message", "log"}, {"rank", log.rank}, {"text", log.text}}; }

LogMessage read_log(const Json& json) { return {whole<int>(json.at("rank")), json.at("text").get<std::string>()}; }

Json write(const FailureMessage& failure) {
  return {{"message", "failure"},
          {"rank", failure.rank},
          {"signal", failure.signal},
          {"last_op", failure.last_op},
          {"text", failure.message}};
}

FailureMessage read_failure(const Json& json) {
  return {whole<int>(json.at("rank")), json.at("signal").get<std::string>(), json.at("last_op").get<std::string>(),
          json.at("text").get<std::string>()};
}

Json write(const FinishedMessage& finished) {
  return {{"message", "finished"}, {"end", name(finished.end)}, {"steps", finished.steps}};
}

FinishedMessage read_finished(const Json& json) {
  return {named<RunEnd>(end_names, json.at("end").get<std::string>()), whole<int64_t>(json.at("steps"))};
}

Json write(const SnapshotMessage& snapshot) {
  Json steps = Json::array(), ranks = Json::array(), log = Json::array();
  for (const StepMessage& step : snapshot.steps) steps.push_back(write(step));
  for (const RankStateMessage& rank : snapshot.ranks) ranks.push_back(write(rank));
  for (const LogMessage& line : snapshot.log) log.push_back(write(line));
  return {{"message", "snapshot"},
          {"steps", std::move(steps)},
          {"ranks", std::move(ranks)},
          {"log", std::move(log)},
          {"failure", snapshot.failure ? write(*snapshot.failure) : Json()}};
}

SnapshotMessage read_snapshot(const Json& json) {
  SnapshotMessage snapshot;
  snapshot.steps = list<StepMessage>(json.at("steps"), read_step);
  snapshot.ranks = list<RankStateMessage>(json.at("ranks"), read_rank_state);
  snapshot.log = list<LogMessage>(json.at("log"), read_log);
  if (!json.at("failure").is_null()) snapshot.failure = read_failure(json.at("failure"));
  return snapshot;
}

std::string line_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n'; }

Message read_message(const Json& json) {
  auto kind = json.at("message").get<std::string>();
  if (kind == "hello") return read_hello(json);
  if (kind == "snapshot") return read_snapshot(json);
  if (kind == "step") return read_step(json);
  if (kind == "rank") return read_rank_state(json);
  if (kind == "log") return read_log(json);
  if (kind == "failure") return read_failure(json);
  if (kind == "finished") return read_finished(json);
  refuse("unknown message '" + kind + "'");
}

}  // namespace

std::string_view name(RunEnd end) { return end_names[static_cast<size_t>(end)]; }

std::string to_json_line(const Message& message) {
  return std::visit([](const auto& value) { return line_of(write(value)); }, message);
}

std::string to_json_line(Request request) {
  return line_of({{"request", request_names[static_cast<size_t>(request)]}});
}

Message parse_message(std::string_view line) {
  try {
    return read_message(Json::parse(line));
  } catch (const Json::exception& error) {
    refuse(error.what());
  }
}

Request parse_request(std::string_view line) {
  try {
    return named<Request>(request_names, Json::parse(line).at("request").get<std::string>());
  } catch (const Json::exception& error) {
    refuse(error.what());
  }
}

void LineBuffer::feed(std::string_view bytes) {
  bytes_.erase(0, taken_);
  searched_ -= taken_;
  taken_ = 0;
  bytes_ += bytes;
  size_t last = bytes.rfind('\n');
  open_ = last == std::string_view::npos ? open_ + bytes.size() : bytes.size() - last - 1;
  if (open_ > longest_line_) {
    bytes_.resize(bytes_.size() - std::exchange(open_, 0));
    searched_ = 0;
    refuse("a line is longer than " + std::to_string(longest_line_) + " bytes");
  }
}

std::optional<std::string> LineBuffer::next_line() {
  size_t end = bytes_.find('\n', searched_);
  if (end == std::string::npos) {
    searched_ = bytes_.size();
    return std::nullopt;
  }
  std::string line = bytes_.substr(taken_, end - taken_);
  taken_ = searched_ = end + 1;
  return line;
}

std::string LineBuffer::rest() {
  std::string text = bytes_.substr(taken_);
  bytes_.clear();
  taken_ = searched_ = open_ = 0;
  return text;
}

std::optional<Message> MessageDecoder::next() {
  auto line = lines_.next_line();
  if (!line) return std::nullopt;
  return parse_message(*line);
}

}  // namespace shardscope
