#include "engine/session/messages.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/base/enum_count.h"
#include "engine/base/error.h"
#include "engine/session/message_json.h"

namespace shardscope {

namespace limits = message_limits;

namespace {

constexpr std::array<std::string_view, 4> end_names = {"finished", "stopped", "interrupted", "failed"};
static_assert(end_names.size() == enum_count<RunEnd>);
constexpr std::array<std::string_view, 4> request_names = {"stop", "kill", "steps", "keep"};
static_assert(request_names.size() == enum_count<Request::Kind>);
// All but initialise, which is before the steps.
static_assert(step_phases + 1 == enum_count<Phase>);

using namespace message_json;

Json write(const HelloMessage& hello) {
  Json steps = Json::array();
  for (const std::vector<PlanStepName>& stage : hello.plan_steps.stages) {
    Json& list = steps.emplace_back(Json::array());
    for (const PlanStepName& step : stage) list.push_back({step.name, static_cast<int>(step.phase)});
  }
  return {{"message", "hello"},       {"config", hello.config_json},    {"plan_hash", hello.plan_hash},
          {"ranks", hello.ranks},     {"plan_steps", std::move(steps)}, {"stages", hello.plan_steps.stage_of_rank},
          {"metrics", hello.metrics}, {"machine", hello.machine_json}};
}

HelloMessage read_hello(const Json& json) {
  HelloMessage hello;
  hello.config_json = limited(json.at("config"), limits::config_bytes, "the run file");
  hello.plan_hash = whole<uint64_t>(json.at("plan_hash"));
  hello.ranks = within<int>(json.at("ranks"), 0, limits::ranks + 1, "the number of ranks");
  hello.plan_steps.stages = list<std::vector<PlanStepName>>(json.at("plan_steps"), [](const Json& stage) {
    return list<PlanStepName>(stage, [](const Json& item) {
      return PlanStepName{cut(item.at(0).get<std::string>(), limits::name_bytes), phase_of(item.at(1))};
    });
  });
  hello.plan_steps.stage_of_rank = list<int>(json.at("stages"), whole<int>, limits::ranks);
  for (int stage : hello.plan_steps.stage_of_rank) {
    if (stage < 0 || stage >= std::ssize(hello.plan_steps.stages)) refuse_message("a rank is of no stage");
  }
  hello.metrics = list<std::string>(json.at("metrics"), metric_name, max_metrics);
  if (json.contains("machine")) hello.machine_json = limited(json["machine"], limits::config_bytes, "the machine");
  return hello;
}

Json write(const RankMeasurement& measured) {
  Json json;
  for_each_field(measured, [&](const char* name, const auto& value) { json[name] = value; });
  return json;
}

void read(const Json& json, int64_t& value) { value = whole<int64_t>(json); }
void read(const Json& json, double& value) { value = number(json); }
void read(const Json& json, PhaseMs& value) { value = by_phase(json); }

// Records of before lack it.
constexpr std::string_view moved_bytes_key = "moved_bytes";

RankMeasurement read_measurement(const Json& json) {
  RankMeasurement measured;
  measured.moved_bytes = -1;
  for_each_field(measured, [&](const char* name, auto& value) {
    if (name != moved_bytes_key || json.contains(name)) read(json.at(name), value);
  });
  rank_of(json.at("rank"));
  return measured;
}

Json write(const StepMessage& step) {
  Json ranks = Json::array();
  for (const RankMeasurement& rank : step.ranks) ranks.push_back(write(rank));
  Json json = {{"message", "step"},
               {"step", step.step},
               {"metrics", Json::array()},
               {"step_ms", step.step_ms},
               {"ranks", std::move(ranks)}};
  for (const MetricValue& metric : step.metrics) {
    json["metrics"].push_back(metric.name);
    json[metric.name] = metric.value;
  }
  return json;
}

StepMessage read_step(const Json& json) {
  StepMessage step;
  step.step = step_of(json.at("step"));
  step.metrics = list<MetricValue>(
      json.at("metrics"),
      [&](const Json& item) {
        std::string name = metric_name(item);
        const double value = number(json.at(name));
        return MetricValue{std::move(name), value};
      },
      max_metrics);
  step.step_ms = number(json.at("step_ms"));
  step.ranks = list<RankMeasurement>(json.at("ranks"), read_measurement, limits::ranks);
  return step;
}

// Of each rank arrive, start and end of one plan step after the other.
Json write(const TraceMessage& trace) {
  Json ranks = Json::array();
  for (const std::vector<PlanStepTime>& times : trace.ranks) {
    Json numbers = Json::array();
    for (const PlanStepTime& time : times) {
      for (int64_t at : {time.arrive_ns, time.start_ns, time.end_ns}) numbers.push_back(at);
    }
    ranks.push_back(std::move(numbers));
  }
  return {{"message", "trace"}, {"choice", name(trace.choice)}, {"step", trace.step}, {"ranks", std::move(ranks)}};
}

TraceMessage read_trace(const Json& json) {
  TraceMessage trace;
  const auto choice = trace_choice(json.at("choice").get<std::string>());
  if (!choice) refuse_message("unknown choice of a trace");
  trace.choice = *choice;
  trace.step = step_of(json.at("step"));
  trace.ranks = list<std::vector<PlanStepTime>>(
      json.at("ranks"),
      [](const Json& rank) {
        const std::vector<int64_t> numbers = list<int64_t>(rank, whole<int64_t>);
        if (numbers.size() % 3 != 0) refuse_message("a trace needs three numbers for each instruction");
        std::vector<PlanStepTime> times;
        times.reserve(numbers.size() / 3);
        for (size_t i = 0; i < numbers.size(); i += 3) {
          const PlanStepTime time{numbers[i], numbers[i + 1], numbers[i + 2]};
          if (time.arrive_ns < 0 || time.start_ns < time.arrive_ns || time.end_ns < time.start_ns) {
            refuse_message("the times of an instruction do not ascend from 0");
          }
          times.push_back(time);
        }
        return times;
      },
      limits::ranks);
  return trace;
}

Json write(const ExpertsMessage& experts) {
  Json layers = Json::array();
  for (const ExpertLoad& load : experts.layers) {
    layers.push_back({{"layer", load.layer}, {"tokens", load.tokens}, {"dropped", load.dropped}});
  }
  return {{"message", "experts"}, {"step", experts.step}, {"layers", std::move(layers)}};
}

double count_of(const Json& json) {
  const double count = number(json);
  if (!(count >= 0 && count < 1e15)) refuse_message("a count of tokens is negative or no number");
  return count;
}

ExpertLoad read_load(const Json& json) {
  return {cut(json.at("layer").get<std::string>(), limits::name_bytes),
          list<double>(json.at("tokens"), count_of, limits::experts), count_of(json.at("dropped"))};
}

ExpertsMessage read_experts(const Json& json) {
  return {step_of(json.at("step")), list<ExpertLoad>(json.at("layers"), read_load, limits::expert_layers)};
}

Json write(const StepTimes& times) {
  Json bins = Json::array();
  for (const auto& [index, bin] : times.bins()) bins.push_back({index, bin.count, bin.sum_ms});
  return {{"first", times.first() ? Json(*times.first()) : Json()}, {"bins", std::move(bins)}};
}

StepTimes read_step_times(const Json& json) {
  std::map<int, StepTimes::Bin> bins;
  const auto& reported = json.at("bins").get_ref<const Json::array_t&>();
  if (reported.size() > limits::time_bins) refuse_message("too many bins of step times");
  for (const Json& bin : reported) {
    const auto count = whole<int32_t>(bin.at(1));
    if (count < 1) refuse_message("a bin of step times is empty");
    bins[whole<int>(bin.at(0))] = {count, number(bin.at(2))};
  }
  const Json& first = json.at("first");
  return {first.is_null() ? std::nullopt : std::optional(number(first)), std::move(bins)};
}

Json write(const StepsMessage& steps) {
  return {{"message", "steps"}, {"from", steps.from}, {"to", steps.to}, {"steps", write_list(steps.steps, write)}};
}

StepsMessage read_steps(const Json& json) {
  return {step_of(json.at("from")), step_of(json.at("to")),
          list<StepMessage>(json.at("steps"), read_step, limits::answer_steps)};
}

Json write(const RankStateMessage& rank) {
  return {{"message", "rank"}, {"rank", rank.rank}, {"state", name(rank.state)}, {"pid", rank.pid}};
}

RankStateMessage read_rank_state(const Json& json) {
  auto state = rank_state(json.at("state").get<std::string>());
  if (!state) refuse_message("unknown rank state");
  return {rank_of(json.at("rank")), *state, whole<int>(json.at("pid"))};
}

Json write(const LogMessage& log) { return {{"message", "log"}, {"rank", log.rank}, {"text", log.text}}; }

LogMessage read_log(const Json& json) { return {speaker_of(json.at("rank")), checked_text(json.at("text"))}; }

Json write(const FailureMessage& failure) {
  return {{"message", "failure"},
          {"rank", failure.rank},
          {"signal", failure.signal},
          {"last_op", failure.last_op},
          {"text", failure.message}};
}

FailureMessage read_failure(const Json& json) {
  return {speaker_of(json.at("rank")), checked_text(json.at("signal")), checked_text(json.at("last_op")),
          checked_text(json.at("text"))};
}

Json write(const RestartMessage& restart) {
  return {{"message", "restart"},
          {"restart", restart.restart},
          {"from_step", restart.from_step},
          {"failure", write(restart.failure)}};
}

RestartMessage read_restart(const Json& json) {
  return {within<int>(json.at("restart"), 0, std::numeric_limits<int>::max(), "the number of a restart"),
          step_of(json.at("from_step")), read_failure(json.at("failure"))};
}

Json write(const FinishedMessage& finished) {
  return {{"message", "finished"}, {"end", name(finished.end)}, {"steps", finished.steps}};
}

FinishedMessage read_finished(const Json& json) {
  return {named<RunEnd>(end_names, json.at("end").get<std::string>()), step_of(json.at("steps"))};
}

Json write(const SnapshotMessage& snapshot) {
  return {{"message", "snapshot"},
          {"past", write_list(snapshot.past, write)},
          {"steps", write_list(snapshot.steps, write)},
          {"step_times", write(snapshot.step_times)},
          {"traces", write_list(snapshot.traces, write)},
          {"experts", snapshot.experts ? write(*snapshot.experts) : Json()},
          {"ranks", write_list(snapshot.ranks, write)},
          {"log", write_list(snapshot.log, write)},
          {"restarts", write_list(snapshot.restarts, write)},
          {"failure", snapshot.failure ? write(*snapshot.failure) : Json()}};
}

SnapshotMessage read_snapshot(const Json& json) {
  SnapshotMessage snapshot;
  snapshot.past = list<StepMessage>(json.at("past"), read_step, limits::snapshot_past);
  snapshot.steps = list<StepMessage>(json.at("steps"), read_step, limits::snapshot_steps);
  snapshot.step_times = read_step_times(json.at("step_times"));
  snapshot.traces = list<TraceMessage>(json.at("traces"), read_trace, limits::snapshot_traces);
  if (json.contains("experts") && !json["experts"].is_null()) snapshot.experts = read_experts(json["experts"]);
  snapshot.ranks = list<RankStateMessage>(json.at("ranks"), read_rank_state, limits::ranks);
  snapshot.log = list<LogMessage>(json.at("log"), read_log, limits::log_lines);
  snapshot.restarts = list<RestartMessage>(json.at("restarts"), read_restart, limits::restarts);
  if (!json.at("failure").is_null()) snapshot.failure = read_failure(json.at("failure"));
  return snapshot;
}

std::string message_line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n'; }

Message read_message(const Json& json) {
  auto kind = json.at("message").get<std::string>();
  if (kind == "hello") return read_hello(json);
  if (kind == "snapshot") return read_snapshot(json);
  if (kind == "step") return read_step(json);
  if (kind == "trace") return read_trace(json);
  if (kind == "experts") return read_experts(json);
  if (kind == "steps") return read_steps(json);
  if (kind == "rank") return read_rank_state(json);
  if (kind == "log") return read_log(json);
  if (kind == "restart") return read_restart(json);
  if (kind == "failure") return read_failure(json);
  if (kind == "finished") return read_finished(json);
  refuse_message("unknown message '" + kind + "'");
}

}  // namespace

std::string_view name(RunEnd end) { return end_names[static_cast<size_t>(end)]; }

std::string to_json_line(const Message& message) {
  return std::visit([](const auto& value) { return message_line(write(value)); }, message);
}

double TraceMessage::milliseconds() const {
  int64_t end = 0;
  for (const std::vector<PlanStepTime>& times : ranks) {
    if (!times.empty()) end = std::max(end, times.back().end_ns);
  }
  return static_cast<double>(end) * 1e-6;
}

std::string to_json_line(const Request& request) {
  Json json = {{"request", request_names[static_cast<size_t>(request.kind)]}};
  if (request.kind == Request::Kind::steps) {
    json["from"] = request.from;
    json["to"] = request.to;
  }
  return message_line(json);
}

Message parse_message(std::string_view line) {
  try {
    return read_message(parsed(line));
  } catch (const Json::exception& error) {
    refuse_message(error.what());
  }
}

Request parse_request(std::string_view line) {
  try {
    const Json json = parsed(line);
    const auto kind = named<Request::Kind>(request_names, json.at("request").get<std::string>());
    if (kind != Request::Kind::steps) return {kind};
    return Request::steps(whole<int64_t>(json.at("from")), whole<int64_t>(json.at("to")));
  } catch (const Json::exception& error) {
    refuse_message(error.what());
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
    bytes_.shrink_to_fit();
    searched_ = 0;
    refuse_message("a line of more than " + (longest_line_ < size_t{1} << 20 ? std::to_string(longest_line_) + " bytes"
                                                                             : whole_mebibytes(longest_line_)));
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
