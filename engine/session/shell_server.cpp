#include "engine/session/shell_server.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/session/telemetry.h"

namespace shardscope {

namespace {

constexpr size_t most_clients = 4096;
constexpr int shell_reads = 64;  // of a client, in one call
constexpr int64_t silence_ns = 30'000'000'000;

[[noreturn]] void refuse_shell(const std::string& path, const std::string& what) {
  throw Failure(Error{"host_socket", what, in_file(path), ""});
}

sockaddr_un shell_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) refuse_shell(path, "the socket's path is too long");
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

}  // namespace

ShellServer::ShellServer(std::string path) : path_(std::move(path)) {
  const sockaddr_un address = shell_address(path_);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  listener_ = ListeningSocket(socket);
  if (socket >= 0) ::fchmod(socket, 0600);
  if (socket < 0 || ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket, 128) != 0) {
    refuse_shell(path_, std::string("cannot listen: ") + std::strerror(errno));
  }
  file_ = SocketFile(path_);
}

ShellServer::~ShellServer() {
  for (Client& client : clients_) ::close(client.socket);
  file_.remove();
  listener_.close();
}

void ShellServer::add_poll_entries(std::vector<pollfd>& entries) const {
  if (clients_.size() < most_clients) listener_.add_poll_entry(entries);
  for (const Client& client : clients_) entries.push_back({client.socket, POLLIN, 0});
}

std::vector<ShellServer::Request> ShellServer::serve() {
  while (clients_.size() < most_clients) {
    const int socket = listener_.accept();
    if (socket < 0) break;
    Client& client = clients_.emplace_back();
    client.socket = socket;
    client.since_ns = monotonic_ns();
  }
  std::vector<Request> requests;
  for (Client& client : clients_) {
    read_from(client, requests);
    client.gone |= client.host.empty() && monotonic_ns() - client.since_ns > silence_ns;
  }
  drop_gone();
  return requests;
}

void ShellServer::read_from(Client& client, std::vector<Request>& requests) {
  std::array<char, 4096> bytes;
  for (int reads = 0; reads < shell_reads; ++reads) {
    const ssize_t got = ::recv(client.socket, bytes.data(), bytes.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    client.gone = got <= 0;
    if (client.gone) return;
    try {
      client.received.feed({bytes.data(), static_cast<size_t>(got)});
      while (auto line = client.received.next_line()) {
        const auto request = nlohmann::json::parse(*line);
        client.host = request.at("host");
        requests.push_back({client.host, request.at("command")});
      }
    } catch (const std::exception&) {
      client.gone = true;
      return;
    }
  }
}

void ShellServer::answer(const std::string& host, int exit_code) {
  for (Client& client : clients_) {
    if (client.host != host) continue;
    const auto code = static_cast<unsigned char>(exit_code);
    ::send(client.socket, &code, 1, MSG_NOSIGNAL);
    client.gone = true;
  }
  drop_gone();
}

void ShellServer::drop_gone() {
  clients_.remove_if([](const Client& client) {
    if (client.gone) ::close(client.socket);
    return client.gone;
  });
}

int run_remote_shell(const std::string& host, const std::vector<std::string>& command) {
  const char* path = std::getenv(shell_variable);
  std::string text;
  for (const std::string& word : command) text += (text.empty() ? "" : " ") + word;
  const std::string request = nlohmann::json{{"host", host}, {"command", text}}.dump() + "\n";
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = shell_address(path ? path : "");
  unsigned char code = 1;
  if (socket < 0 || ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return 1;
  for (size_t sent = 0; sent < request.size();) {
    const ssize_t put = ::send(socket, request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
    if (put < 0 && errno != EINTR) return 1;
    if (put > 0) sent += static_cast<size_t>(put);
  }
  while (::recv(socket, &code, 1, 0) < 0 && errno == EINTR) {
  }
  return code;
}

}  // namespace shardscope
