#include "engine/comm/peer_channel.h"

#include <utility>

#include "engine/comm/block_copy.h"
#include "engine/comm/futex.h"

namespace shardscope {

namespace {

constexpr uint32_t one_message = 2;

bool is_small(const MessageShape& shape) { return shape.bytes <= ChannelBlock::payload_bytes; }

}  // namespace

PeerChannel::PeerChannel(std::shared_ptr<ControlRegion> region, std::shared_ptr<const PeerMemory> memory,
                         ChannelBlock& block, const Ends& ends, std::shared_ptr<CommunicationTotals> totals)
    : ChannelEnd(ends, std::move(totals)), region_(std::move(region)), memory_(std::move(memory)), block_(block) {}

PeerChannel::~PeerChannel() {
  (ends().sends ? block_.sender_left : block_.receiver_left).store(1, std::memory_order_release);
}

void PeerChannel::publish(Sources arrays, const MessageShape& shape) {
  region_->check_aborted(ends().own());
  std::byte* payload = block_.payload.data();
  for (size_t i = 0; i < arrays.size(); ++i) {
    const auto bytes = static_cast<int64_t>(arrays[i].size());
    if (!is_small(shape)) {
      block_.entries[i] = memory_->publish(arrays[i].data(), bytes);
    } else {
      count_moved(copy_bytes(payload, arrays[i].data(), bytes));
      payload += bytes;
    }
  }
  block_.shape = shape;
  block_.sent.fetch_add(one_message, std::memory_order_release);
  futex_wake_all(block_.sent);
}

void PeerChannel::await_taken() {
  await(block_.taken, done_);
  done_ += one_message;
}

MessageShape PeerChannel::await_message() {
  region_->check_aborted(ends().own());
  await(block_.sent, done_);
  return block_.shape;
}

void PeerChannel::take(Destinations arrays, const MessageShape& shape) {
  const std::byte* payload = block_.payload.data();
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (arrays[i].empty()) continue;
    const std::byte* source = is_small(shape) ? payload : memory_->find(ends().from, block_.entries[i]);
    count_moved(copy_bytes(arrays[i].data(), source, static_cast<int64_t>(arrays[i].size())));
    payload += arrays[i].size();
  }
  done_ += one_message;
  block_.taken.fetch_add(one_message, std::memory_order_release);
  futex_wake_all(block_.taken);
}

void PeerChannel::await(std::atomic<uint32_t>& word, uint32_t value) {
  const std::atomic<uint32_t>& other_left = ends().sends ? block_.receiver_left : block_.sender_left;
  region_->await_change(word, value, ends().own(),
                        [&] { region_->abort_if_ended(ends().other(), other_left, word, value); });
}

}  // namespace shardscope
