#pragma once

#include <set>
#include <string>
#include <vector>

namespace shardscope {

// What the launcher of a run needs to know of its networks. Addresses are IPv4, as numbers.

// Is `host` (USER@NAME) a name of the machine that this process runs on, by which no launcher is needed?
bool is_this_host(const std::string& host);

// The address of this machine that `host` sees: of the interface by which the kernel reaches it. `interface`, where it
// is not empty, says which instead: its name, or an address. Throws Failure (bad_hosts).
std::string own_address_towards(const std::string& host, const std::string& interface);

// The network of an own address, "10.99.0.0/24".
std::string network_of(const std::string& own_address);

// This machine's address in `networks` ("10.99.0.0/24,127.0.0.0/8") at which Open MPI listens: own_address_of() those
// that it has there.
std::string own_address_in(const std::string& networks, const std::string& reached_by);
// Of several, `reached_by`, by which the other hosts are reached (may be empty); of the loopback's, 127.0.0.1. Empty
// where that leaves none, or several: Open MPI then listens on all interfaces, which any_address_warning() says.
std::string own_address_of(const std::set<std::string>& addresses, const std::string& reached_by);
std::string any_address_warning(const std::string& networks);

// What must be called so that `host` runs `command` in a shell: here a shell, elsewhere `launcher`. An empty launcher
// is Slurm's inside of an allocation, and else ssh.
std::vector<std::string> launch_command(const std::vector<std::string>& launcher, const std::string& host,
                                        const std::vector<std::string>& command);

// As a shell reads it back.
std::string shell_quoted(const std::vector<std::string>& command);

}  // namespace shardscope
