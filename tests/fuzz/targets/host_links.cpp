#include <sys/socket.h>
#include <unistd.h>

#include <optional>

#include "engine/session/host_link.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/program_call.h"
#include "tests/fuzz/targets/targets.h"

namespace shardscope::fuzz {

namespace {

const std::string secret(64, 's');

// Two ends that talk to each other through this process, which may change what it carries.
class Conversation {
 public:
  Conversation() {
    launcher_ = link([&](int socket) {
      return HostLink::of_launcher(socket, [](uint32_t host) { return host == 1 ? secret : std::string(); });
    });
    agent_ = link([&](int socket) { return HostLink::of_agent(socket, 1, secret); });
  }
  ~Conversation() {
    for (int wire : wires_) ::close(wire);
  }
  Conversation(const Conversation&) = delete;

  HostLink& launcher() { return *launcher_; }
  HostLink& agent() { return *agent_; }

  // What an end says now, and what it receives.
  std::string on_readable(HostLink& end) {
    end.write();
    std::string bytes(1 << 17, '\0');
    const ssize_t got = ::recv(wire(end), bytes.data(), bytes.size(), MSG_DONTWAIT);
    bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
    return bytes;
  }
  void tell(HostLink& end, const std::string& bytes) {
    for (size_t at = 0; at < bytes.size();) {
      const ssize_t put = ::send(wire(end), bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (put > 0) at += static_cast<size_t>(put);
      else if (end.is_trusted()) end.read();
      else break;  // it takes no more than a greeting before
    }
    end.read();
  }
  void introduce() {
    for (int i = 0; i < 3; ++i) {
      tell(agent(), on_readable(launcher()));
      tell(launcher(), on_readable(agent()));
    }
  }

 private:
  template <class Make>
  HostLink link(Make make) {
    int ends[2] = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) throw std::bad_alloc();
    wires_.push_back(ends[1]);
    return make(ends[0]);
  }
  int wire(const HostLink& end) const { return wires_[&end == &*launcher_ ? 0 : 1]; }

  std::vector<int> wires_;
  std::optional<HostLink> launcher_, agent_;
};

// Unauthenticated peers send `bytes` to an end in the place of its peer.
Answer refuse_unauthenticated(const std::string& bytes, bool to_agent) {
  Conversation conversation;
  HostLink& end = to_agent ? conversation.agent() : conversation.launcher();
  try {
    conversation.tell(end, bytes);
    while (end.take()) return {false, "takes a frame of an unauthenticated peer"};
  } catch (const Failure& failure) {
    return refusal(failure, "host_link");
  }
  return {false, end.is_trusted() ? "trusts an unauthenticated peer" : ""};
}

// An agent sends these payloads; what it says is changed on its way, three times of four.
Answer refuse_changes(const std::vector<std::string>& payloads, Random random) {
  Conversation conversation;
  conversation.introduce();
  std::vector<HostFrame> sent;
  for (const std::string& payload : payloads) {
    sent.push_back({static_cast<HostFrameKind>(random.below(256)), payload});
    conversation.agent().send(sent.back().kind, payload);
  }
  std::string bytes;
  for (std::string more; !(more = conversation.on_readable(conversation.agent())).empty();) bytes += more;
  const std::string genuine = bytes;
  if (!random.one_in(4)) mutate(bytes, random);
  size_t taken = 0;
  try {
    conversation.tell(conversation.launcher(), bytes);
    while (const auto frame = conversation.launcher().take()) {
      const bool is_next =
          taken < sent.size() && frame->kind == sent[taken].kind && frame->payload == sent[taken].payload;
      if (!is_next) return {false, "takes a frame that was not sent"};
      ++taken;
    }
  } catch (const Failure& failure) {
    return refusal(failure, "host_link");
  }
  return {false, bytes == genuine && taken != sent.size() ? "loses a frame" : ""};
}

// The first letter says what the rest is: what an unauthenticated peer sends an agent or a launcher, or payloads.
Answer host_link_answer(const std::string& input) {
  const std::string rest = input.empty() ? "" : input.substr(1);
  if (input.starts_with('f')) return refuse_changes(words_of(rest), Random(std::hash<std::string>()(input)));
  return refuse_unauthenticated(rest, input.starts_with('a'));
}

}  // namespace

// What the launcher of a run and the agents on its hosts say to each other.
Target host_links() {
  Target target;
  target.name = "host links";
  const std::string nonce(32, 'n'), proof(32, 'p'), host("\x01\0\0\0", 4);
  target.corpus = {"aSHRDHST2" + nonce + proof, "sSHRDAGT2" + host + proof + nonce + proof,
                   "f" + input_of({"{\"pid\":1}", "", "a report"}), "f" + std::string(3000, 'x')};
  target.mutate = [](const std::string& input, Random& random) {
    std::string rest = input.substr(1);
    for (size_t count = random.size(4); count > 0; --count) mutate(rest, random);
    return input[0] + rest;
  };
  target.run = host_link_answer;
  return target;
}

}  // namespace shardscope::fuzz
