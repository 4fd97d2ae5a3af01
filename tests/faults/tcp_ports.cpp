#include "tests/faults/tcp_ports.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <deque>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>
#include <utility>

namespace shardscope::faults {

namespace fs = std::filesystem;

namespace {

std::set<std::string> socket_inodes(int pid) {
  std::set<std::string> inodes;
  std::error_code error;
  for (fs::directory_iterator at(fmt::format("/proc/{}/fd", pid), error), end; !error && at != end;
       at.increment(error)) {
    std::error_code gone;
    const std::string target = fs::read_symlink(at->path(), gone);
    if (target.starts_with("socket:[")) inodes.insert(target.substr(8, target.size() - 9));
  }
  return inodes;
}

// "0100007F", each four bytes in the order of this machine.
std::string address_of(const std::string& digits) {
  std::array<uint32_t, 4> words{};
  for (size_t i = 0; i < digits.size() / 8; ++i) {
    words[i] = static_cast<uint32_t>(std::stoul(digits.substr(8 * i, 8), nullptr, 16));
  }
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(digits.size() > 8 ? AF_INET6 : AF_INET, words.data(), text.data(), text.size());
  return text.data();
}

void add_ports(int pid, const char* table, const std::set<std::string>& own, std::vector<TcpPort>& ports) {
  std::ifstream file(fmt::format("/proc/{}/net/{}", pid, table));
  std::string line;
  for (std::getline(file, line); std::getline(file, line);) {
    std::istringstream fields(line);
    std::string number, local, remote, state, inode, skipped;
    fields >> number >> local >> remote >> state;
    for (int field = 0; field < 5; ++field) fields >> skipped;
    fields >> inode;
    const size_t colon = local.find(':');
    if (state != "0A" || colon == std::string::npos || !own.contains(inode)) continue;
    const auto port = static_cast<uint16_t>(std::stoul(local.substr(colon + 1), nullptr, 16));
    ports.push_back({address_of(local.substr(0, colon)), port});
  }
}

// For this thread alone, which is not to do anything else afterwards. False where that cannot be.
bool enter_network_of(int pid) {
  const std::string theirs = fmt::format("/proc/{}/ns/net", pid);
  std::error_code error;
  if (fs::equivalent(theirs, "/proc/thread-self/ns/net", error)) return true;
  const int network = ::open(theirs.c_str(), O_RDONLY | O_CLOEXEC);
  const bool done = network >= 0 && ::setns(network, CLONE_NEWNET) == 0;
  if (network >= 0) ::close(network);
  return done;
}

int socket_in_network_of(int pid, int family) {
  int made = -1;
  std::thread([&] {
    if (enter_network_of(pid)) made = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  }).join();
  return made;
}

bool connect(int socket, const TcpPort& port) {
  sockaddr_in6 address{};
  socklen_t length = sizeof address;
  if (port.is_ipv6()) {
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(port.port);
    address.sin6_addr = in6addr_loopback;
  } else {
    auto& v4 = reinterpret_cast<sockaddr_in&>(address);
    length = sizeof v4;
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port.port);
    ::inet_pton(AF_INET, port.address == "0.0.0.0" ? "127.0.0.1" : port.address.c_str(), &v4.sin_addr);
  }
  return ::connect(socket, reinterpret_cast<const sockaddr*>(&address), length) == 0;
}

}  // namespace

std::vector<TcpPort> listening_ports(int pid) {
  const std::set<std::string> own = socket_inodes(pid);
  std::vector<TcpPort> ports;
  add_ports(pid, "tcp", own, ports);
  add_ports(pid, "tcp6", own, ports);
  return ports;
}

TcpPeer::TcpPeer(int pid, const TcpPort& port)
    : socket_(socket_in_network_of(pid, port.is_ipv6() ? AF_INET6 : AF_INET)) {
  if (socket_ < 0) return;
  const timeval patience{1, 0};  // where nobody accepts
  ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  is_connected_ = connect(socket_, port);
}

TcpPeer::TcpPeer(TcpPeer&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), is_connected_(other.is_connected_) {}

TcpPeer::~TcpPeer() {
  if (socket_ >= 0) ::close(socket_);
}

bool TcpPeer::send(const std::string& bytes) const {
  return ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
}

TcpFlood::TcpFlood(int pid, std::vector<TcpPort> ports) {
  constexpr size_t most_held = 200;
  for (int i = 0; i < 2; ++i) {
    threads_.emplace_back([pid, ports](const std::stop_token& stop) {
      if (!enter_network_of(pid)) return;
      std::deque<int> held;
      for (size_t next = 0; !stop.stop_requested(); ++next) {
        const TcpPort& port = ports[next % ports.size()];
        const int family = port.is_ipv6() ? AF_INET6 : AF_INET;
        held.push_back(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        connect(held.back(), port);
        if (held.size() <= most_held) continue;
        ::close(held.front());
        held.pop_front();
      }
      for (int socket : held) ::close(socket);
    });
  }
}

}  // namespace shardscope::faults
