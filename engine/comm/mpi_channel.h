#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "engine/comm/channel_end.h"
#include "engine/comm/control_region.h"
#include "engine/comm/mpi_link.h"
#include "engine/comm/peer_table.h"

namespace shardscope {

// What the channels of a rank go over. With `memory`, large messages are sent from the arena and received there, and
// it is kept for as long as MPI may touch it; without, every message is packed. `region`, where there is one, is
// informed of what ends a wait.
struct MpiRoute {
  std::shared_ptr<MpiLink> link;
  std::shared_ptr<ControlRegion> region;
  std::shared_ptr<const PeerMemory> memory;
};

// Between ranks of different hosts, under a tag of its own: a message is its shape, then its arrays.
class MpiChannel final : public ChannelEnd {
 public:
  MpiChannel(MpiRoute route, const Ends& ends, int tag, std::shared_ptr<CommunicationTotals> totals);
  ~MpiChannel() override;
  MpiChannel(const MpiChannel&) = delete;
  MpiChannel& operator=(const MpiChannel&) = delete;

 protected:
  void publish(Sources arrays, const MessageShape& shape) override;
  void await_taken() override { wait(); }
  MessageShape await_message() override;
  void take(Destinations arrays, const MessageShape& shape) override;

 private:
  bool is_packed(const MessageShape& shape) const;
  void check(const std::byte* array, size_t bytes) const;
  void wait();

  MpiRoute route_;
  int tag_;
  MpiTransfers transfers_;
  std::vector<std::byte> shape_, packed_;
};

}  // namespace shardscope
