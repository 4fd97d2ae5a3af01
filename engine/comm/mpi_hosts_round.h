#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/comm/mpi_hosts_communicator.h"
#include "engine/comm/mpi_operation.h"

namespace shardscope {

// An operation of a group on several hosts, and its parts that are done at a time.
class HostsCommunicator::Round final : public MpiOperation {
 public:
  // `bytes` at `first` of the buffer of outgoing or incoming messages.
  struct Message {
    int member = 0;
    int64_t first = 0;
    int64_t bytes = 0;
  };

  Round(const HostsWorld& world, PeerTable& table) : MpiOperation(world.link, world.region), table_(table) {}

  size_t slot() const { return PeerTable::slot(number); }
  // Do members read each other's destinations?
  static bool gathers(CallKind kind) { return kind == CallKind::all_gather || kind == CallKind::all_reduce; }
  // With arrays that peers can read.
  const CollectiveCall& readable() const { return small ? staged : call; }
  // Of an all-to-all or a permute.
  bool sends(int from, int to) const {
    return call.kind == CallKind::all_to_all || call.destination_of[static_cast<size_t>(from)] == to;
  }
  const CallPart& part(size_t index) const { return readable().parts[index]; }
  std::span<const CallPart> parts() const { return std::span(readable().parts).subspan(first, last - first); }
  void check_signatures() const { table_.check_signatures(slot(), call); }

  bool small = false;
  CollectiveCall staged;       // of a small call
  size_t first = 0, last = 0;  // parts
  std::vector<Message> incoming, outgoing;

 protected:
  bool have_peers_come() override { return table_.has_met(slot()); }
  void await_peers() override { record.waited_ns += table_.await(slot()); }

 private:
  PeerTable& table_;
};

}  // namespace shardscope
