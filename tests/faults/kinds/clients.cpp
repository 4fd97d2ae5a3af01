#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <list>

#include "tests/faults/kinds/kinds.h"
#include "tests/faults/whole_runs.h"
#include "tests/session/socket_client.h"

namespace shardscope::faults {

namespace {

class Client : public SocketClient {
 public:
  explicit Client(const Run& run) : SocketClient(run.session_directory() + "/socket", SOCK_NONBLOCK) {}
  void read_a_byte() const {
    char byte;
    [[maybe_unused]] const ssize_t got = ::recv(socket_, &byte, 1, 0);
  }
};

Fault watched(const std::string& name, std::function<void(Run&, Random&)> watch) {
  Fault fault;
  fault.name = name;
  fault.phases = {Phase::joining, Phase::computing};
  fault.expected = {"", {0}, 90};
  fault.prepare = [](Start& start, Random&) { ask_for_all_steps(start, 4000); };
  fault.inject = std::move(watch);
  fault.check = check_all_steps;
  return fault;
}

constexpr int64_t to_the_end = 60'000;

}  // namespace

std::vector<Fault> clients() {
  return {
      watched("a client that never reads",
              [](Run& run, Random&) {
                const Client client(run);
                if (!client.connected()) throw Missed{};
                run.run_for(to_the_end);
              }),
      watched("a client that reads a byte now and then",
              [](Run& run, Random&) {
                const Client client(run);
                if (!client.connected()) throw Missed{};
                run.run_until(
                    [&] {
                      client.read_a_byte();
                      return false;
                    },
                    to_the_end);
              }),
      watched("clients that come and go",
              [](Run& run, Random&) {
                run.run_until(
                    [&] {
                      const Client client(run);
                      return false;
                    },
                    to_the_end);
              }),
      watched("three hundred clients",
              [](Run& run, Random&) {
                std::list<Client> all;
                for (int i = 0; i < 300; ++i) all.emplace_back(run);
                run.run_for(to_the_end);
              }),
      watched("clients that send nonsense",
              [](Run& run, Random& random) {
                run.run_until(
                    [&] {
                      const Client client(run);
                      std::string text(1 + random() % 60'000, '\0');
                      for (char& byte : text) byte = static_cast<char>(random());
                      client.send(random() % 2 ? text : R"({"request":{"stop":1},"stop":)" + text);
                      if (random() % 3 == 0) client.send("\n" + std::string(1000, '[') + "\n");
                      return false;
                    },
                    to_the_end);
              }),
  };
}

}  // namespace shardscope::faults
