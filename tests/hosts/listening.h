#pragma once

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "engine/session/processes.h"

namespace shardscope {

// A TCP port of a process.
struct ListeningPort {
  int pid = 0;
  std::string address;  // "127.0.0.1", "0.0.0.0"; "::..." for any of IPv6
  int port = 0;
};

// Those of the network that a process is in, by the numbers of their sockets.
inline std::map<std::string, ListeningPort> listening_in_network_of(int pid) {
  std::map<std::string, ListeningPort> found;
  for (const char* name : {"tcp", "tcp6"}) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/net/" + name);
    for (std::string line; std::getline(file, line);) {
      std::array<char, 64> address{};
      unsigned port = 0, state = 0;
      unsigned long inode = 0;
      if (std::sscanf(line.c_str(), " %*d: %32[0-9A-F]:%x %*s %x %*s %*s %*s %*d %*d %lu", address.data(), &port,
                      &state, &inode) != 4 ||
          state != 10)
        continue;
      in_addr number{};
      std::sscanf(address.data(), "%8x", &number.s_addr);
      std::array<char, INET_ADDRSTRLEN> text{};
      ::inet_ntop(AF_INET, &number, text.data(), text.size());
      const bool is_v6 = std::string(name) == "tcp6";
      found["socket:[" + std::to_string(inode) + "]"] = {0, is_v6 ? "::" + std::string(address.data()) : text.data(),
                                                         static_cast<int>(port)};
    }
  }
  return found;
}

// Those of `first` and of all processes that come from it.
inline std::vector<ListeningPort> listening_ports(int first) {
  std::vector<ProcessId> processes = descendants(first);
  processes.push_back({first, 0});
  std::vector<ListeningPort> found;
  for (const ProcessId& process : processes) {
    const std::map<std::string, ListeningPort> all = listening_in_network_of(process.pid);
    const std::string folder = "/proc/" + std::to_string(process.pid) + "/fd";
    DIR* files = ::opendir(folder.c_str());
    if (!files) continue;
    while (const dirent* file = ::readdir(files)) {
      std::array<char, 64> target{};
      const ssize_t length = ::readlink((folder + "/" + file->d_name).c_str(), target.data(), target.size() - 1);
      const auto port = length > 0 ? all.find(target.data()) : all.end();
      if (port == all.end()) continue;
      found.push_back(port->second);
      found.back().pid = process.pid;
    }
    ::closedir(files);
  }
  return found;
}

}  // namespace shardscope
