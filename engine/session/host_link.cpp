#include "engine/session/host_link.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "engine/base/error.h"

namespace shardscope {

namespace {

constexpr std::string_view hub_magic = "SHRDHST2", agent_magic = "SHRDAGT2";
constexpr const char* closed = "closed the connection";
constexpr size_t nonce_bytes = 32, proof_bytes = 32, head_bytes = 5;

[[noreturn]] void fail_link(const std::string& what) { throw Failure(Error{"host_link", what, "", ""}); }

std::string random_bytes(size_t count) {
  std::string bytes(count, '\0');
  for (size_t got = 0; got < count;) {
    const ssize_t more = ::getrandom(bytes.data() + got, count - got, 0);
    if (more < 0 && errno != EINTR) fail_link(std::string("no random numbers: ") + std::strerror(errno));
    if (more > 0) got += static_cast<size_t>(more);
  }
  return bytes;
}

HostLink::Digest keyed_hash(std::string_view key, std::string_view text) {
  HostLink::Digest digest{};
  unsigned int length = 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  if (!::HMAC(::EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes, text.size(), digest.data(), &length)) {
    fail_link("no HMAC");
  }
  return digest;
}

std::string_view digest_text(const HostLink::Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

bool equal(const HostLink::Digest& digest, std::string_view said) {
  return said.size() == digest.size() && ::CRYPTO_memcmp(digest.data(), said.data(), digest.size()) == 0;
}

template <class Number>
std::string bytes_of(Number value) {
  std::string bytes(sizeof value, '\0');
  for (size_t i = 0; i < sizeof value; ++i) bytes[i] = static_cast<char>(value >> (8 * i));
  return bytes;
}

uint32_t number_of(std::string_view bytes) {
  uint32_t value = 0;
  for (size_t i = 0; i < sizeof value; ++i) value |= uint32_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return value;
}

}  // namespace

HostLink::HostLink(int socket, bool is_agent)
    : socket_(socket), is_agent_(is_agent), stage_(is_agent ? Stage::awaits_magic : Stage::awaits_knock) {}

HostLink HostLink::of_agent(int socket, uint32_t host, std::string secret) {
  HostLink link(socket, true);
  link.host_ = host;
  link.secret_ = std::move(secret);
  link.unsent_ = std::string(agent_magic) + bytes_of(host);
  link.unsent_ += digest_text(link.proof("knock"));
  return link;
}

HostLink::HostLink(HostLink&& other) noexcept : HostLink(-1, other.is_agent_) { *this = std::move(other); }

HostLink& HostLink::operator=(HostLink&& other) noexcept {
  std::swap(socket_, other.socket_);
  std::swap(is_agent_, other.is_agent_);
  std::swap(stage_, other.stage_);
  std::swap(host_, other.host_);
  std::swap(secret_, other.secret_);
  std::swap(secret_of_, other.secret_of_);
  std::swap(nonces_, other.nonces_);
  std::swap(key_sent_, other.key_sent_);
  std::swap(key_received_, other.key_received_);
  std::swap(frames_sent_, other.frames_sent_);
  std::swap(frames_received_, other.frames_received_);
  std::swap(unsent_, other.unsent_);
  std::swap(received_, other.received_);
  std::swap(sent_, other.sent_);
  std::swap(taken_, other.taken_);
  std::swap(is_closed_, other.is_closed_);
  std::swap(queued_, other.queued_);
  return *this;
}

HostLink::~HostLink() {
  if (socket_ >= 0) ::close(socket_);
}

void HostLink::greet() {
  nonces_ = random_bytes(nonce_bytes);
  unsent_ += std::string(hub_magic) + nonces_;
}

short HostLink::poll_events() const { return static_cast<short>(unsent_bytes() > 0 ? POLLIN | POLLOUT : POLLIN); }

void HostLink::send(HostFrameKind kind, std::string_view payload) {
  if (payload.size() > longest_frame || unsent_bytes() + payload.size() > most_unsent) {
    fail_link(fmt::format("does not take what is sent to it ({} bytes wait)", unsent_bytes() + payload.size()));
  }
  if (is_trusted()) put_frame(kind, payload);
  else queued_.push_back({kind, std::string(payload)});
}

void HostLink::put_frame(HostFrameKind kind, std::string_view payload) {
  if (sent_ > 0) unsent_.erase(0, std::exchange(sent_, 0));
  const std::string head = bytes_of(static_cast<uint32_t>(payload.size())) + static_cast<char>(kind);
  const Digest digest = frame_proof(key_sent_, frames_sent_++, head, payload);
  unsent_ += head;
  unsent_ += payload;
  unsent_ += digest_text(digest);
}

void HostLink::write() {
  while (unsent_bytes() > 0) {
    const ssize_t put = ::send(socket_, unsent_.data() + sent_, unsent_bytes(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (put < 0) fail_link(std::string("cannot be written to: ") + std::strerror(errno));
    sent_ += static_cast<size_t>(put);
  }
  unsent_.clear();
  sent_ = 0;
}

void HostLink::read() {
  std::array<char, 65536> bytes;
  const size_t most = is_trusted() ? longest_frame + 2 * bytes.size() : hub_magic.size() + 4 * nonce_bytes;
  while (received_.size() - taken_ < most) {
    const ssize_t got = ::recv(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    is_closed_ = got <= 0;
    if (is_closed_) break;
    received_.append(bytes.data(), static_cast<size_t>(got));
  }
  if (!is_trusted()) shake_hands();
  if (is_closed_ && !is_trusted()) fail_link(closed);
}

std::optional<std::string_view> HostLink::take_bytes(size_t count) {
  if (received_.size() - taken_ < count) return {};
  std::string_view bytes = std::string_view(received_).substr(taken_, count);
  taken_ += count;
  return bytes;
}

void HostLink::shake_hands() {
  if (stage_ == Stage::awaits_magic) {
    auto greeting = take_bytes(hub_magic.size() + nonce_bytes);
    if (!greeting) return;
    if (!greeting->starts_with(hub_magic)) fail_link("is no launcher of this version");
    nonces_ = std::string(greeting->substr(hub_magic.size())) + random_bytes(nonce_bytes);
    unsent_ += nonces_.substr(nonce_bytes);
    unsent_ += digest_text(proof("agent"));
    stage_ = Stage::awaits_proof;
  }
  if (stage_ == Stage::awaits_knock) {
    auto knock = take_bytes(agent_magic.size() + sizeof host_ + proof_bytes);
    if (!knock) return;
    if (!knock->starts_with(agent_magic)) fail_link("is no agent of this version");
    host_ = number_of(knock->substr(agent_magic.size()));
    secret_ = secret_of_(host_);
    if (secret_.empty() || !equal(proof("knock"), knock->substr(agent_magic.size() + sizeof host_))) {
      fail_link("does not know the secret of this run");
    }
    greet();
    stage_ = Stage::awaits_answer;
  }
  if (stage_ == Stage::awaits_answer) {
    auto answer = take_bytes(nonce_bytes + proof_bytes);
    if (!answer) return;
    nonces_ += answer->substr(0, nonce_bytes);
    if (!equal(proof("agent"), answer->substr(nonce_bytes))) fail_link("does not know the secret of this run");
    unsent_ += digest_text(proof("launcher"));
    trust();
  } else if (stage_ == Stage::awaits_proof) {
    auto answer = take_bytes(proof_bytes);
    if (!answer) return;
    if (!equal(proof("launcher"), *answer)) fail_link("does not know the secret of this run");
    trust();
  }
}

void HostLink::trust() {
  const Digest of_agent = proof("frames of the agent"), of_launcher = proof("frames of the launcher");
  key_sent_ = is_agent_ ? of_agent : of_launcher;
  key_received_ = is_agent_ ? of_launcher : of_agent;
  stage_ = Stage::trusted;
  for (const HostFrame& frame : std::exchange(queued_, {})) put_frame(frame.kind, frame.payload);
}

HostLink::Digest HostLink::proof(std::string_view of) const {
  return keyed_hash(secret_, std::string(of) + '\0' + nonces_ + bytes_of(host_));
}

HostLink::Digest HostLink::frame_proof(const Digest& key, uint64_t counter, std::string_view head,
                                       std::string_view payload) const {
  std::string text = bytes_of(counter);
  text += head;
  text += payload;
  return keyed_hash(digest_text(key), text);
}

std::optional<HostFrame> HostLink::take() {
  if (!is_trusted()) return {};
  const std::string_view all = std::string_view(received_).substr(taken_);
  const size_t length = all.size() < head_bytes ? 0 : number_of(all);
  if (length > longest_frame) fail_link(fmt::format("sends a frame of {} bytes", length));
  if (all.size() < head_bytes + length + proof_bytes) {
    if (is_closed_) fail_link(closed);
    received_.erase(0, std::exchange(taken_, 0));
    return {};
  }
  const std::string_view head = all.substr(0, head_bytes), payload = all.substr(head_bytes, length);
  if (!equal(frame_proof(key_received_, frames_received_++, head, payload),
             all.substr(head_bytes + length, proof_bytes))) {
    fail_link("sends a frame that is not signed by this run");
  }
  HostFrame frame{static_cast<HostFrameKind>(head[4]), std::string(payload)};
  taken_ += head_bytes + length + proof_bytes;
  if (taken_ == received_.size()) {
    received_.clear();
    taken_ = 0;
  }
  return frame;
}

std::string new_host_secret() {
  std::string secret;
  for (char byte : random_bytes(32)) secret += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return secret;
}

}  // namespace shardscope
