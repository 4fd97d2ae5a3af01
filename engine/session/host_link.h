#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

// What the launcher of a run and the agent on one of its hosts say to each other. Payloads are JSON where no other
// format is named.
enum class HostFrameKind : uint8_t {
  setup,    // launcher: {"ranks": [numbers], "world_size", "rank_bytes", "silence_ns", "files": {NAME: text},
            // "mpi_token", "mpi_networks"}
  ready,    // agent: it has done so; {"pid", "start_time", "code", "cores", "memory_bytes", "instruction_set"}
  ping,     // launcher, again and again: how is it? agent: nothing is launched yet
  report,   // agent, asked by a ping, and at the end: encode(HostReport)
  launch,   // launcher: {"command"} for a shell, which starts the ranks
  output,   // agent: a line that the command wrote
  exited,   // agent: {"status"} of the command, as waitpid gives it
  stop,     // launcher: ranks end after the step
  pause,    // launcher: all processes of the run are stopped
  resume,   // launcher: and continued
  kill,     // launcher: the ranks end at once; what has started them goes on
  end,      // launcher: end all, and yourself
  ended,    // agent, its last: {"left": [text]}, what the kernel would not end
  failure,  // agent, its last: what went wrong, as text
};

struct HostFrame {
  HostFrameKind kind = HostFrameKind::ping;
  std::string payload;
};

// One end of the connection between the two, over a connected socket. Nothing blocks, and nothing is unbounded. Both
// sides first prove that they know the host's secret, which never crosses:
//
//   agent -> launcher   magic, host, HMAC-SHA256(secret, "knock", host)
//   launcher -> agent   magic, nonce of the launcher
//   agent -> launcher   nonce of the agent, HMAC-SHA256(secret, "agent", nonces, host)
//   launcher -> agent   HMAC-SHA256(secret, "launcher", nonces, host)
//
// The first line, which could be repeated by whoever has seen it, only tells an agent from other peers at once.
//
// Then frames: length, kind, payload, HMAC over a counter and these, with a key for each direction. A peer that says
// anything else is hostile: take() throws.
class HostLink {
 public:
  static constexpr size_t longest_frame = size_t{64} << 20;
  static constexpr size_t most_unsent = size_t{128} << 20;
  using Digest = std::array<unsigned char, 32>;

  // The agent's end knows its secret and its host.
  static HostLink of_agent(int socket, uint32_t host, std::string secret);
  // The launcher's end learns the host from the agent, whose secret is then asked for: secret_of(host), empty where
  // there is no such host, or it has its agent already.
  template <class SecretOf>
  static HostLink of_launcher(int socket, SecretOf secret_of) {
    HostLink link(socket, false);
    link.secret_of_ = std::move(secret_of);
    return link;
  }

  HostLink(HostLink&& other) noexcept;
  HostLink& operator=(HostLink&& other) noexcept;
  ~HostLink();

  int socket() const { return socket_; }
  bool is_trusted() const { return stage_ == Stage::trusted; }
  // The launcher's end knows the host, by what its agent said first.
  bool is_known() const { return stage_ != Stage::awaits_knock; }
  uint32_t host() const { return host_; }
  size_t unsent_bytes() const { return unsent_.size() - sent_; }
  short poll_events() const;

  // Queued until trusted. Throws Failure (host_link) beyond most_unsent.
  void send(HostFrameKind kind, std::string_view payload = {});
  // Writes and reads what is possible now. Throws Failure (host_link) when the peer is gone or hostile.
  void write();
  void read();
  // The next frame that has come. Throws as read().
  std::optional<HostFrame> take();

 private:
  enum class Stage : uint8_t { awaits_magic, awaits_knock, awaits_answer, awaits_proof, trusted };

  HostLink(int socket, bool is_agent);
  void greet();
  void shake_hands();
  void put_frame(HostFrameKind kind, std::string_view payload);
  Digest proof(std::string_view of) const;
  Digest frame_proof(const Digest& key, uint64_t counter, std::string_view head, std::string_view payload) const;
  std::optional<std::string_view> take_bytes(size_t count);
  void trust();

  int socket_ = -1;
  bool is_agent_;
  Stage stage_;
  uint32_t host_ = 0;
  std::string secret_;
  std::function<std::string(uint32_t)> secret_of_;
  std::string nonces_;  // the launcher's, then the agent's
  Digest key_sent_{}, key_received_{};
  uint64_t frames_sent_ = 0, frames_received_ = 0;
  std::string unsent_, received_;
  size_t sent_ = 0, taken_ = 0;
  bool is_closed_ = false;
  std::vector<HostFrame> queued_;
};

// 32 random bytes, as 64 hexadecimal digits. Throws Failure (host_link).
std::string new_host_secret();

}  // namespace shardscope
