#include "engine/session/messages.h"

#include <QtTest>
#include <climits>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "engine/base/enum_count.h"
#include "engine/base/error.h"
#include "tests/test_program.h"

namespace messages_test {

using namespace shardscope;

namespace {

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  int64_t integer(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(engine_); }
  double real() { return std::uniform_real_distribution<double>(-1e6, 1e6)(engine_); }
  std::string text() {
    static const std::vector<std::string> pieces = {"a",   "Dense_0/kernel", "\n", "\"", "\\", "\t", "é", "中", "{",
                                                    "\x01"};
    std::string text;
    for (int64_t i = integer(0, 6); i > 0; --i) text += pieces[integer(0, std::ssize(pieces) - 1)];
    return text;
  }
  template <class Make>
  auto list(int64_t most, Make make) {
    std::vector<decltype(make())> values;
    for (int64_t i = integer(0, most); i > 0; --i) values.push_back(make());
    return values;
  }

  // None to as many as there can be, in no alphabetical order.
  std::vector<std::string> metric_names() {
    std::vector<std::string> names;
    for (int64_t i = integer(0, max_metrics); i > 0; --i) names.push_back("metric " + std::to_string(i) + text());
    return names;
  }

  StepMessage step() {
    StepMessage step{integer(0, 1 << 30), {}, real(), {}};
    for (const std::string& name : metric_names()) step.metrics.push_back({name, real()});
    step.ranks = list(8, [&] {
      return RankMeasurement{integer(0, 99), integer(0, INT64_MAX), integer(INT64_MIN, 0), integer(0, 9), real(),
                             integer(-1, 9), integer(0, 9),         integer(0, 9),         phases(),      phases(),
                             phases()};
    });
    return step;
  }
  PhaseMs phases() { return {real(), real(), real(), real()}; }
  PlanStepTime time() {
    const int64_t arrive = integer(0, INT64_MAX / 2), start = arrive + integer(0, 99);
    return {arrive, start, start + integer(0, 99)};
  }
  TraceMessage trace() {
    return {static_cast<TraceChoice>(integer(0, 2)), integer(0, 99),
            list(3, [&] { return list(9, [&] { return time(); }); })};
  }
  ExpertsMessage experts() {
    return {integer(0, 99), list(3, [&] {
              return ExpertLoad{text(), list(9, [&] { return double(integer(0, 1 << 30)); }), double(integer(0, 99))};
            })};
  }
  StepTimes step_times() {
    StepTimes times;
    for (int64_t i = integer(0, 20); i > 0; --i) times.add(std::abs(real()));
    return times;
  }
  RankStateMessage rank() { return {static_cast<int>(integer(0, 99)), static_cast<RankState>(integer(0, 3)), 77}; }
  LogMessage log() { return {static_cast<int>(integer(-1, 9)), text()}; }
  FailureMessage failure() { return {static_cast<int>(integer(-1, 9)), text(), text(), text()}; }

  RestartMessage restart() { return {static_cast<int>(integer(1, 9)), integer(0, 99), failure()}; }

  Message message() {
    switch (integer(0, 10)) {
      case 0:
        return HelloMessage{text(),
                            static_cast<uint64_t>(integer(0, INT64_MAX)) * 2 + 1,
                            8,
                            list(9,
                                 [&] {
                                   return PlanStepName{text(), static_cast<Phase>(integer(0, enum_count<Phase> - 1))};
                                 }),
                            metric_names(),
                            text()};
      case 1: {
        SnapshotMessage snapshot{list(4, [&] { return step(); }),
                                 list(4, [&] { return step(); }),
                                 step_times(),
                                 list(4, [&] { return trace(); }),
                                 std::nullopt,
                                 list(4, [&] { return rank(); }),
                                 list(4, [&] { return log(); }),
                                 list(2, [&] { return restart(); }),
                                 std::nullopt};
        if (integer(0, 1)) snapshot.experts = experts();
        if (integer(0, 1)) snapshot.failure = failure();
        return snapshot;
      }
      case 2: return step();
      case 3: return rank();
      case 4: return log();
      case 5: return failure();
      case 6: return trace();
      case 8: return restart();
      case 9: return experts();
      case 7: return StepsMessage{integer(0, 9), integer(9, 99), list(4, [&] { return step(); })};
      default: return FinishedMessage{static_cast<RunEnd>(integer(0, 3)), integer(0, 99)};
    }
  }

 private:
  std::mt19937 engine_;
};

}  // namespace

class MessagesTest : public QObject {
  Q_OBJECT

 private slots:
  void every_message_survives_the_wire();
  void of_a_record_without_moved_bytes_they_are_not_known();
  void a_stream_cut_anywhere_gives_the_same_messages();
  void numbers_that_json_lacks_arrive_as_nan();
  void every_metric_is_a_key_of_its_own_beside_those_of_every_step();
  void text_that_is_not_utf8_is_still_sent();
  void damaged_lines_are_failures_and_the_next_line_is_read();
  void a_line_that_is_nested_too_deeply_is_refused();
  void a_line_without_end_is_refused_and_forgotten();
  void what_is_beyond_the_limits_is_refused_or_cut();
  void requests_survive_the_wire_and_others_are_refused();
};

void MessagesTest::every_message_survives_the_wire() {
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    Message message = random.message();
    std::string line = to_json_line(message);
    QCOMPARE(line.find('\n'), line.size() - 1);
    QVERIFY(parse_message(line) == message);
  }
}

void MessagesTest::of_a_record_without_moved_bytes_they_are_not_known() {
  StepMessage step{1, {}, 2.5, {RankMeasurement{}}};
  step.ranks[0].moved_bytes = 12345;
  std::string line = to_json_line(step);
  const std::string key = "\"moved_bytes\":12345,";
  QVERIFY2(line.find(key) != std::string::npos, line.c_str());
  line.erase(line.find(key), key.size());
  step.ranks[0].moved_bytes = -1;
  QVERIFY(parse_message(line) == Message(step));
}

void MessagesTest::a_stream_cut_anywhere_gives_the_same_messages() {
  Random random(2);
  std::vector<Message> sent;
  std::string bytes;
  for (int i = 0; i < 100; ++i) {
    sent.push_back(random.message());
    bytes += to_json_line(sent.back());
  }
  for (int64_t longest : {1, 7, 100, 100000}) {
    MessageDecoder decoder;
    std::vector<Message> received;
    for (size_t at = 0; at < bytes.size();) {
      auto piece = static_cast<size_t>(random.integer(1, longest));
      decoder.feed(std::string_view(bytes).substr(at, piece));
      at += piece;
      while (auto message = decoder.next()) received.push_back(*message);
    }
    QVERIFY(received == sent);
  }
}

void MessagesTest::numbers_that_json_lacks_arrive_as_nan() {
  for (double loss : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    const StepMessage sent{3, {{"loss", loss}, {"accuracy", 0.5}}, 1, {}};
    auto step = std::get<StepMessage>(parse_message(to_json_line(sent)));
    QVERIFY(std::isnan(value_of(step.metrics, "loss")));
    QCOMPARE(value_of(step.metrics, "accuracy"), 0.5);
  }
}

void MessagesTest::every_metric_is_a_key_of_its_own_beside_those_of_every_step() {
  for (size_t count : {size_t{0}, size_t{1}, size_t{2}, max_metrics}) {
    StepMessage step{5, {}, 2.5, {{0, 1, 2, 3, 4, 5, 6, {}, {}, {}}}};
    for (size_t i = 0; i < count; ++i) step.metrics.push_back({i == 0 ? "loss" : "m" + std::to_string(i), 0.25 * i});
    const auto json = nlohmann::json::parse(to_json_line(step));
    std::vector<std::string> others;
    for (const auto& [key, value] : json.items()) {
      const auto metric = std::ranges::find(step.metrics, key, &MetricValue::name);
      if (metric == step.metrics.end()) others.push_back(key);
      else QCOMPARE(value.get<double>(), metric->value);
    }
    QCOMPARE(json.size(), others.size() + count);
    QVERIFY((others == std::vector<std::string>{"message", "metrics", "ranks", "step", "step_ms"}));
    for (const std::string& key : others) QVERIFY(!check_metric_names(std::vector{key}).empty());
    QVERIFY(std::get<StepMessage>(parse_message(to_json_line(step))) == step);
  }
}

void MessagesTest::text_that_is_not_utf8_is_still_sent() {
  auto log = std::get<LogMessage>(parse_message(to_json_line(LogMessage{1, "a\xff\xfe z"})));
  QVERIFY(log.text.starts_with("a") && log.text.ends_with(" z"));
}

void MessagesTest::a_line_that_is_nested_too_deeply_is_refused() {
  std::string whole = to_json_line(LogMessage{0, "[[{\"[["});
  whole.pop_back();
  QVERIFY(parse_message(whole) == Message(LogMessage{0, "[[{\"[["}));
  for (const std::string open : {"[", "{\"a\":"}) {
    std::string deep;
    for (int level = 0; level < 200000; ++level) deep += open;
    const std::string line = whole.substr(0, whole.size() - 1) + ",\"more\":" + deep;
    QVERIFY_THROWS_EXCEPTION(Failure, parse_message(line));
    QVERIFY_THROWS_EXCEPTION(Failure, parse_request(line));
  }
}

void MessagesTest::damaged_lines_are_failures_and_the_next_line_is_read() {
  Random random(3);
  const Message intact = LogMessage{0, "intact"};
  int refused = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string line = to_json_line(random.message());
    line.pop_back();
    for (int64_t edits = random.integer(1, 3); edits > 0; --edits) {
      auto at = static_cast<size_t>(random.integer(0, std::ssize(line) - 1));
      if (random.integer(0, 1)) line.erase(at, static_cast<size_t>(random.integer(1, 20)));
      else line[at] = static_cast<char>(random.integer(0, 255));
      if (line.empty()) line = "x";
    }
    std::erase(line, '\n');
    MessageDecoder decoder;
    decoder.feed(line + "\n" + to_json_line(intact));
    try {
      decoder.next();
    } catch (const Failure& failure) {
      QCOMPARE(failure.errors().at(0).code, std::string("bad_message"));
      ++refused;
    }
    QVERIFY(decoder.next() == intact);
    QVERIFY(!decoder.next());
  }
  QVERIFY(refused > 2500);
  for (const char* line : {"", "null", "3", "[]", "{}", R"({"message":"step"})", R"({"message":7})",
                           R"({"message":"finished","end":"finished","steps":1e400})",
                           R"({"message":"finished","end":"finished","steps":1.5})",
                           R"({"message":"log","rank":99999999999999,"text":""})",
                           R"({"message":"trace","choice":"median","step":1,"ranks":[[0,1]]})",
                           R"({"message":"trace","choice":"median","step":1,"ranks":[[1,0,2]]})",
                           R"({"message":"trace","choice":"best","step":1,"ranks":[]})"}) {
    QVERIFY_THROWS_EXCEPTION(Failure, parse_message(line));
  }
}

void MessagesTest::a_line_without_end_is_refused_and_forgotten() {
  LineBuffer lines(1000);
  lines.feed("whole\nopen");
  QVERIFY_THROWS_EXCEPTION(Failure, lines.feed(std::string(2000, 'x')));
  QCOMPARE(lines.next_line().value_or(""), std::string("whole"));
  QVERIFY(!lines.next_line());
  lines.feed("next\n");
  QCOMPARE(lines.next_line().value_or(""), std::string("next"));
}

void MessagesTest::what_is_beyond_the_limits_is_refused_or_cut() {
  namespace limits = message_limits;
  const auto said_of = [](const std::string& line) -> std::string {
    try {
      parse_message(line);
    } catch (const Failure& failure) {
      return failure.what();
    }
    return "";
  };
  const auto of_step = [](int64_t step) { return to_json_line(StepMessage{step, {}, 1, {}}); };
  QVERIFY(!said_of(of_step(-1)).empty() && !said_of(of_step(limits::steps)).empty());
  QVERIFY(said_of(of_step(limits::steps - 1)).empty());
  for (const int rank : {-1, limits::ranks, INT_MAX}) {
    QVERIFY(!said_of(to_json_line(RankStateMessage{rank, RankState::running, 1})).empty());
    StepMessage step;
    step.ranks.resize(1);
    step.ranks[0].rank = rank;
    QVERIFY(!said_of(to_json_line(step)).empty());
  }
  QVERIFY(!said_of(to_json_line(LogMessage{limits::ranks, ""})).empty());
  for (const int64_t step : {int64_t{-1}, limits::steps}) {
    QVERIFY(!said_of(to_json_line(RestartMessage{1, step, {}})).empty());
    QVERIFY(!said_of(to_json_line(StepsMessage{step, 0, {}})).empty());
    QVERIFY(!said_of(to_json_line(StepsMessage{0, step, {}})).empty());
  }
  QVERIFY(!said_of(to_json_line(RestartMessage{-1, 0, {}})).empty());
  StepMessage metrics;
  for (size_t i = 0; i <= max_metrics; ++i) metrics.metrics.push_back({"m" + std::to_string(i), 1});
  QVERIFY(!said_of(to_json_line(metrics)).empty());
  QVERIFY(!said_of(to_json_line(HelloMessage{std::string(limits::config_bytes + 1, ' '), 1, 1, {}, {}})).empty());
  SnapshotMessage snapshot;
  snapshot.past.resize(limits::snapshot_past + 1);
  QVERIFY(!said_of(to_json_line(snapshot)).empty());
  StepsMessage answer;
  answer.steps.resize(limits::answer_steps + 1);
  QVERIFY(!said_of(to_json_line(answer)).empty());

  std::string letters;
  while (letters.size() <= limits::text_bytes) letters += "\u00e9";
  const auto log = std::get<LogMessage>(parse_message(to_json_line(LogMessage{0, letters})));
  QVERIFY(log.text.size() <= limits::text_bytes && log.text.ends_with("\u00e9 ..."));
  QVERIFY(said_of("{\"message\":\"" + std::string(1 << 20, 'x') + "\"}").size() < 2000);
  std::string numbers = "[0";
  while (numbers.size() < limits::parsed_bytes / 16) numbers += ",0";
  QVERIFY(said_of(numbers + "]").find("512 MiB") != std::string::npos);

  LineBuffer lines(size_t{2} << 20);
  std::string said;
  try {
    for (int i = 0; i < 3; ++i) lines.feed(std::string(1 << 20, 'x'));
  } catch (const Failure& failure) {
    said = failure.what();
  }
  QCOMPARE(said, std::string("run socket: a line of more than 2 MiB"));
}

void MessagesTest::requests_survive_the_wire_and_others_are_refused() {
  for (const Request& request :
       {Request::stop, Request::kill, Request::keep, Request::steps(3, 1000), Request::steps(-1, INT64_MIN)}) {
    QVERIFY(parse_request(to_json_line(request)) == request);
  }
  QVERIFY(parse_request(R"({"request":"stop"})") == Request::stop);
  for (const char* line : {"", "stop", "{}", R"({"request":"dance"})", R"({"request":1})", R"({"request":"steps"})",
                           R"({"request":"steps","from":0,"to":1.5})", R"({"request":"steps","from":"0","to":1})"}) {
    QVERIFY_THROWS_EXCEPTION(Failure, parse_request(line));
  }
}

REGISTER_TEST(MessagesTest)

}  // namespace messages_test

#include "messages_test.moc"
