#include "engine/session/host_network.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>

#include "engine/base/error.h"

namespace shardscope {

namespace {

[[noreturn]] void refuse_network(std::string message, Place where, std::string hint) {
  throw Failure(Error{"bad_hosts", std::move(message), std::move(where), std::move(hint)});
}

std::string without_user(const std::string& host) { return host.substr(host.find('@') + 1); }

std::string address_text(const in_addr& address) {
  std::array<char, INET_ADDRSTRLEN> text{};
  return ::inet_ntop(AF_INET, &address, text.data(), text.size());
}

const in_addr& address_of(const sockaddr* address) { return reinterpret_cast<const sockaddr_in*>(address)->sin_addr; }

// The first of this machine's IPv4 interfaces of which `choose` holds.
template <class Result>
Result find_interface(const std::function<bool(const ifaddrs&)>& choose,
                      const std::function<Result(const ifaddrs&)>& result, Result missing) {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return missing;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> list(first, ::freeifaddrs);
  for (const ifaddrs* one = first; one; one = one->ifa_next) {
    if (one->ifa_addr && one->ifa_addr->sa_family == AF_INET && choose(*one)) return result(*one);
  }
  return missing;
}

sockaddr_in resolve(const std::string& host) {
  addrinfo wanted{};
  wanted.ai_family = AF_INET;
  wanted.ai_socktype = SOCK_DGRAM;
  addrinfo* first = nullptr;
  const int error = ::getaddrinfo(without_user(host).c_str(), "9", &wanted, &first);
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> list(first, [](addrinfo* one) {
    if (one) ::freeaddrinfo(one);
  });
  if (error != 0) {
    refuse_network(fmt::format("host '{}' is not known: {}", host, ::gai_strerror(error)), at_argument("--hosts"),
                   "a name or address that this machine can reach, or --interface");
  }
  return *reinterpret_cast<const sockaddr_in*>(first->ai_addr);
}

}  // namespace

bool is_this_host(const std::string& host) {
  const std::string name = without_user(host);
  std::array<char, 256> own{};
  ::gethostname(own.data(), own.size() - 1);
  return name == host && (name == "localhost" || name == "127.0.0.1" || name == own.data());
}

std::string own_address_towards(const std::string& host, const std::string& interface) {
  if (!interface.empty()) {
    const std::string found = find_interface<std::string>(
        [&](const ifaddrs& one) {
          return one.ifa_name == interface || address_text(address_of(one.ifa_addr)) == interface;
        },
        [](const ifaddrs& one) { return address_text(address_of(one.ifa_addr)); }, "");
    if (!found.empty()) return found;
    refuse_network(fmt::format("this machine has no interface '{}' with an IPv4 address", interface),
                   at_argument("--interface"), "a name or an address that 'ip address' shows");
  }
  if (is_this_host(host)) return "127.0.0.1";
  const sockaddr_in there = resolve(host);
  const int probe = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_in here{};
  socklen_t length = sizeof here;
  const bool known = probe >= 0 && ::connect(probe, reinterpret_cast<const sockaddr*>(&there), sizeof there) == 0 &&
                     ::getsockname(probe, reinterpret_cast<sockaddr*>(&here), &length) == 0;
  const std::string reason = std::strerror(errno);
  if (probe >= 0) ::close(probe);
  if (!known) refuse_network(fmt::format("host '{}' cannot be reached: {}", host, reason), at_argument("--hosts"), "");
  return address_text(here.sin_addr);
}

std::string network_of(const std::string& own_address) {
  return find_interface<std::string>(
      [&](const ifaddrs& one) { return one.ifa_netmask && address_text(address_of(one.ifa_addr)) == own_address; },
      [](const ifaddrs& one) {
        const in_addr mask = address_of(one.ifa_netmask);
        const in_addr network{address_of(one.ifa_addr).s_addr & mask.s_addr};
        return fmt::format("{}/{}", address_text(network), std::popcount(mask.s_addr));
      },
      own_address + "/32");
}

std::string own_address_in(const std::string& networks, const std::string& reached_by) {
  std::set<std::string> found;
  find_interface<bool>(
      [&](const ifaddrs& one) {
        const std::string address = address_text(address_of(one.ifa_addr));
        if (("," + networks + ",").find("," + network_of(address) + ",") != std::string::npos) found.insert(address);
        return false;
      },
      [](const ifaddrs&) { return false; }, false);
  return own_address_of(found, reached_by);
}

std::string own_address_of(const std::set<std::string>& addresses, const std::string& reached_by) {
  if (addresses.size() == 1) return *addresses.begin();
  if (addresses.contains(reached_by)) return reached_by;
  const bool is_loopback = std::ranges::all_of(addresses, [](const auto& one) { return one.starts_with("127."); });
  return is_loopback && addresses.contains("127.0.0.1") ? "127.0.0.1" : "";
}

std::string any_address_warning(const std::string& networks) {
  return fmt::format(
      "warning: Open MPI listens on all interfaces, since not one address of this machine stands for the networks {}; "
      "it still closes connections without this run's token (--interface names an interface)",
      networks);
}

std::vector<std::string> launch_command(const std::vector<std::string>& launcher, const std::string& host,
                                        const std::vector<std::string>& command) {
  const std::string text = shell_quoted(command);
  if (is_this_host(host)) return {"/bin/sh", "-c", "exec " + text};
  if (launcher.empty() && std::getenv("SLURM_JOB_ID")) {
    return {"srun",       "--nodes=1", "--ntasks=1", "--overlap", "--cpu-bind=none",
            "--nodelist", host,        "/bin/sh",    "-c",        "exec " + text};
  }
  std::vector<std::string> whole = launcher;
  if (whole.empty()) whole = {"ssh", "-o", "BatchMode=yes"};
  whole.push_back(host);
  whole.push_back(text);
  return whole;
}

std::string shell_quoted(const std::vector<std::string>& command) {
  std::string text;
  for (const std::string& word : command) {
    if (!text.empty()) text += ' ';
    text += '\'';
    for (char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    text += '\'';
  }
  return text;
}

}  // namespace shardscope
