#include "engine/session/run_server.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "engine/base/error.h"
#include "engine/session/telemetry.h"

namespace shardscope {

namespace {

constexpr size_t most_questions = 64;  // of a client, unanswered
constexpr int client_reads = 16;       // of a client, in one call

[[noreturn]] void refuse_socket(const std::string& path, const std::string& what, const std::string& hint = "") {
  throw Failure(Error{"session_socket", what, in_file(path), hint});
}

sockaddr_un client_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    refuse_socket(path, "the socket's path is longer than " + std::to_string(sizeof address.sun_path - 1) + " bytes",
                  "set TMPDIR or --socket to a shorter path");
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

int new_socket(const std::string& path) {
  int result = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (result < 0) refuse_socket(path, std::string("cannot make a socket: ") + std::strerror(errno));
  return result;
}

// The file of a socket whose owner has died would make bind fail for ever.
void remove_dead_socket(const std::string& path, const sockaddr_un& address) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return;
  if (!S_ISSOCK(status.st_mode)) refuse_socket(path, "exists and is not a socket", "choose another path");
  int probe = new_socket(path);
  bool dead =
      ::connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 && errno == ECONNREFUSED;
  ::close(probe);
  if (!dead) refuse_socket(path, "is in use by another run", "choose another path");
  struct stat now {};
  const bool is_same = ::lstat(path.c_str(), &now) == 0 && now.st_dev == status.st_dev && now.st_ino == status.st_ino;
  if (is_same) ::unlink(path.c_str());
}

}  // namespace

RunServer::RunServer(std::string path, std::function<std::string()> greeting, size_t most_unsent)
    : path_(std::move(path)), greeting_(std::move(greeting)), most_unsent_(most_unsent) {
  sockaddr_un address = client_address(path_);
  remove_dead_socket(path_, address);
  const int socket = new_socket(path_);
  listener_ = ListeningSocket(socket);
  ::fchmod(socket, 0600);
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || ::listen(socket, 16) != 0) {
    refuse_socket(path_, std::string("cannot listen: ") + std::strerror(errno));
  }
  file_ = SocketFile(path_);
}

RunServer::~RunServer() {
  for (Client& client : clients_) ::close(client.socket);
  file_.remove();
  listener_.close();
}

bool RunServer::has_unsent() const {
  return std::ranges::any_of(clients_, [](const Client& client) { return !client.unsent.empty(); });
}

void RunServer::add_poll_entries(std::vector<pollfd>& entries) const {
  listener_.add_poll_entry(entries);
  for (const Client& client : clients_) {
    entries.push_back({client.socket, static_cast<short>(client.unsent.empty() ? POLLIN : POLLIN | POLLOUT), 0});
  }
}

std::vector<RunServer::Asked> RunServer::serve() {
  std::vector<Asked> asked;
  accept_new();
  for (Client& client : clients_) {
    read_from(client, asked);
    write_to(client);
  }
  drop_lost();
  take_question(asked);
  return asked;
}

void RunServer::send(std::string text) {
  if (clients_.empty()) return;
  const Line line = std::make_shared<const std::string>(std::move(text));
  for (Client& client : clients_) add_line(client, line);
  drop_lost();
}

void RunServer::send_to(uint64_t id, std::string text) {
  const auto client = std::ranges::find(clients_, id, &Client::id);
  if (client == clients_.end()) return;
  add_line(*client, std::make_shared<const std::string>(std::move(text)));
  drop_lost();
}

void RunServer::accept_new() {
  if (const int socket = listener_.accept(); socket >= 0) greet(socket);
}

void RunServer::greet(int socket) {
  if (clients_.size() >= most_clients) {
    ::close(socket);
    return;
  }
  Client& client = clients_.emplace_back();
  client.id = next_id_++;
  client.socket = socket;
  const Line greeting = std::make_shared<const std::string>(greeting_());
  client.most_unsent = greeting->size() + most_unsent_;
  add_line(client, greeting);
}

void RunServer::read_from(Client& client, std::vector<Asked>& asked) {
  std::array<char, 4096> bytes;
  for (int reads = 0; reads < client_reads && !client.lost; ++reads) {
    ssize_t got = ::recv(client.socket, bytes.data(), bytes.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    client.lost = got <= 0;
    if (client.lost) return;
    try {
      client.received.feed({bytes.data(), static_cast<size_t>(got)});
      while (auto line = client.received.next_line()) {
        const Request request = parse_request(*line);
        if (request.kind == Request::Kind::steps) client.asked.push_back(request);
        else asked.push_back({request, client.id});
      }
    } catch (const Failure&) {
      client.lost = true;
    }
    client.lost = client.lost || client.asked.size() > most_questions;
  }
}

// Of those who have read what they were sent, the one that was answered longest ago comes first.
void RunServer::take_question(std::vector<Asked>& asked) {
  const auto client = std::ranges::find_if(
      clients_, [](const Client& candidate) { return !candidate.asked.empty() && candidate.unsent.empty(); });
  if (client == clients_.end()) return;
  asked.push_back({client->asked.front(), client->id});
  client->asked.pop_front();
  clients_.splice(clients_.end(), clients_, client);
}

void RunServer::add_line(Client& client, const Line& line) {
  client.unsent.push_back(line);
  client.unsent_bytes += line->size();
  write_to(client);
  if (client.unsent_bytes > client.most_unsent) client.lost = true;
}

void RunServer::write_to(Client& client) {
  while (!client.lost && !client.unsent.empty()) {
    const std::string_view rest = std::string_view(*client.unsent.front()).substr(client.sent_of_first);
    const ssize_t put = rest.empty() ? 0 : ::send(client.socket, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (put < 0) {
      client.lost = true;
      return;
    }
    client.unsent_bytes -= static_cast<size_t>(put);
    client.sent_of_first += static_cast<size_t>(put);
    if (client.sent_of_first < client.unsent.front()->size()) continue;
    client.unsent.pop_front();
    client.sent_of_first = 0;
  }
}

void RunServer::drop_lost() {
  clients_.remove_if([](const Client& client) {
    if (client.lost) ::close(client.socket);
    return client.lost;
  });
}

}  // namespace shardscope
