#pragma once

#include <cstdint>
#include <memory>

#include "engine/comm/channel_end.h"
#include "engine/comm/control_region.h"
#include "engine/comm/peer_table.h"

namespace shardscope {

// Between ranks that can read each other's arrays in place: the sender publishes where its arrays are, the receiver
// copies them from there. A small message (up to 8 KiB) is copied to the control block.
class PeerChannel final : public ChannelEnd {
 public:
  // `block` is made by the region.
  PeerChannel(std::shared_ptr<ControlRegion> region, std::shared_ptr<const PeerMemory> memory, ChannelBlock& block,
              const Ends& ends, std::shared_ptr<CommunicationTotals> totals);
  ~PeerChannel() override;  // says that this end has left
  PeerChannel(const PeerChannel&) = delete;
  PeerChannel& operator=(const PeerChannel&) = delete;

 protected:
  void publish(Sources arrays, const MessageShape& shape) override;
  void await_taken() override;
  MessageShape await_message() override;
  void take(Destinations arrays, const MessageShape& shape) override;

 private:
  void await(std::atomic<uint32_t>& word, uint32_t value);

  std::shared_ptr<ControlRegion> region_;
  std::shared_ptr<const PeerMemory> memory_;
  ChannelBlock& block_;
  uint32_t done_ = 0;  // messages taken, as the block counts them
};

}  // namespace shardscope
