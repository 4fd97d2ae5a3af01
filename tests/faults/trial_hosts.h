#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/faults/fault.h"

namespace shardscope::faults {

// Hosts of one trial, made of network namespaces (tests/hosts/hosts.sh).
class Hosts {
 public:
  explicit Hosts(int count);
  ~Hosts();
  Hosts(const Hosts&) = delete;
  Hosts& operator=(const Hosts&) = delete;

  bool is_made() const { return is_made_; }
  std::string name(int host) const;
  void set_link(int host, bool up) const;

  void take(Start& start) const;      // puts the trial's ranks onto them
  int host_of(const Run& run) const;  // of the rank that a fault is for

 private:
  int count_;
  std::string prefix_;
  bool is_made_ = false;
};

// A fault of four ranks on two or four hosts. Lacks the right to make these where this machine does not grant it.
class FaultOnHosts {
 public:
  FaultOnHosts(const std::string& name, int count, std::vector<Phase> phases, Expected expected);

  Fault injected_by(const std::function<void(Run&, const Hosts&)>& inject);
  Fault& fault() { return fault_; }
  const std::shared_ptr<std::optional<Hosts>>& hosts() const { return hosts_; }

 private:
  Fault fault_;
  std::shared_ptr<std::optional<Hosts>> hosts_ = std::make_shared<std::optional<Hosts>>();
};

}  // namespace shardscope::faults
