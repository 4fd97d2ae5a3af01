#include "engine/session/messages.h"
#include "engine/base/error.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/program_call.h"
#include "tests/fuzz/targets/targets.h"

namespace shardscope::fuzz {

namespace {

// Every line of a stream that comes in pieces, as a client reads it.
Answer decode(const std::string& input) {
  MessageDecoder decoder;
  Answer answer;
  const size_t piece = 1 + input.size() / 7;
  for (size_t at = 0; at < input.size(); at += piece) {
    try {
      decoder.feed(std::string_view(input).substr(at, piece));
    } catch (const Failure& failure) {
      answer.refused = true;
      answer.fault += refusal(failure, "bad_message").fault;
    }
    for (bool more = true; more;) {
      try {
        const auto message = decoder.next();
        more = message.has_value();
        if (more) parse_message(to_json_line(*message));
      } catch (const Failure& failure) {
        answer.refused = true;
        answer.fault += refusal(failure, "bad_message").fault;
      }
    }
  }
  return answer;
}

std::vector<std::string> some_messages() {
  StepMessage step;
  step.step = 3;
  step.metrics = {{"loss", 1.5}, {"accuracy", 0.25}};
  step.ranks.resize(2);
  const TraceMessage trace{TraceChoice::median, 2, {{{0, 1, 2}, {3, 5, 7}}, {{1, 1, 2}, {3, 3, 7}}}};
  SnapshotMessage snapshot;
  snapshot.past = snapshot.steps = {step};
  snapshot.step_times.add(12);
  snapshot.step_times.add(3);
  snapshot.traces = {trace};
  snapshot.experts = ExpertsMessage{3, {{"layers/0/experts", {3, 1}, 2}}};
  snapshot.ranks = {{1, RankState::running, 4711}};
  snapshot.log = {{-1, "mpirun: \"quoted\""}};
  snapshot.failure = FailureMessage{1, "SIGKILL", "relu", "rank 1 was killed"};
  snapshot.restarts = {{1, 0, *snapshot.failure}};
  std::vector<std::string> lines;
  for (const Message& message :
       {Message(HelloMessage{"{\"seed\": 0}", 0x5ca1ab1e, 2, {{"relu", Phase::forward}}, {"loss", "accuracy"}}),
        Message(snapshot), Message(step), Message(trace), Message(StepsMessage{3, 9, {step}}),
        Message(*snapshot.experts), Message(snapshot.ranks[0]), Message(snapshot.log[0]), Message(*snapshot.failure),
        Message(snapshot.restarts[0]), Message(FinishedMessage{RunEnd::stopped, 12})}) {
    lines.push_back(to_json_line(message));  // with the newline, without which it is not decoded
  }
  return lines;
}

}  // namespace

// What a run sends to its clients.
Target messages() {
  Target target;
  target.name = "messages";
  target.corpus = some_messages();
  target.mutate = [lines = target.corpus](const std::string& input, Random& random) {
    std::string text = mutant_of_json(input, random) + "\n";
    while (random.one_in(3)) text += mutant_of_json(random.of(lines), random) + "\n";
    if (random.one_in(8)) mutate(text, random);
    return text;
  };
  target.run = decode;
  return target;
}

}  // namespace shardscope::fuzz
