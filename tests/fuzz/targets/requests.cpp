#include <algorithm>
#include <array>

#include "engine/session/run_history.h"
#include "engine/session/run_server.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/program_call.h"
#include "tests/fuzz/targets/targets.h"
#include "tests/session/socket_client.h"

namespace shardscope::fuzz {

namespace {

constexpr size_t most_sent = 1 << 16;
constexpr int most_turns = 200;

class Client : public SocketClient {
 public:
  Client() : SocketClient("watched") {}

  void read_all() const {
    std::array<char, 65536> bytes;
    while (::recv(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT) > 0) {
    }
  }
};

// A run that is watched.
struct WatchedRun {
  RunHistory history{".", HelloMessage{"{}", 0x5ca1ab1e, 2, {{"relu", Phase::forward}}, {"loss"}}};
  RunServer server{"watched", [this] { return history.greeting(); }};

  WatchedRun() {
    for (int64_t number = 3; number < 100; ++number) {
      StepMessage step{number, {{"loss", 1.0 / static_cast<double>(number)}}, 2.5, {}};
      step.ranks.resize(2);
      history.add(step);
    }
  }

  // Does what clients ask for. Returns what is wrong with the answers.
  std::string serve() {
    for (const auto& [request, client] : server.serve()) {
      if (request.kind != Request::Kind::steps) continue;
      const StepsMessage answer = history.steps(request.from, request.to);
      const bool fits = std::ranges::all_of(
          answer.steps, [&](const StepMessage& step) { return step.step >= request.from && step.step < request.to; });
      if (!fits || answer.steps.size() > RunHistory::steps_an_answer) return "answers with other steps";
      server.send_to(client, to_json_line(answer));
    }
    return "";
  }
};

Answer request_answer(const std::string& bytes) {
  static WatchedRun run;
  Answer answer;
  {
    const Client client;
    size_t at = 0;
    for (int turn = 0; turn < most_turns && !answer.refused && answer.fault.empty(); ++turn) {
      const size_t piece = std::min(bytes.size() / 3 + 1, bytes.size() - at);
      if (piece > 0) client.send(bytes.substr(at, piece));
      at += piece;
      answer.fault = run.serve();
      answer.refused = !run.server.has_clients();
      client.read_all();
      if (at == bytes.size() && !run.server.has_unsent()) break;
    }
  }
  if (answer.fault.empty()) answer.fault = run.serve();
  if (run.server.has_clients()) answer.fault = "keeps a client that has gone";
  return answer;
}

}  // namespace

// What clients send to a run.
Target requests() {
  Target target;
  target.name = "requests";
  target.corpus = {R"({"request":"stop"})", R"({"request":"kill"})", R"({"request":"steps","from":0,"to":100})"};
  target.mutate = [lines = target.corpus](const std::string& input, Random& random) {
    std::string text = random.one_in(2) ? mutant_of_json(input, random) : input;
    while (random.one_in(2)) text += "\n" + mutant_of_json(random.of(lines), random);
    if (text.size() > most_sent) text.resize(most_sent);
    return text;
  };
  target.run = [](const std::string& input) { return request_answer(input + "\n"); };
  return target;
}

}  // namespace shardscope::fuzz
