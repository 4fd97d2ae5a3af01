#include "engine/comm/mpi_channel.h"

#include <cstring>
#include <utility>

#include "engine/comm/block_copy.h"

namespace shardscope {

MpiChannel::MpiChannel(MpiRoute route, const Ends& ends, int tag, std::shared_ptr<CommunicationTotals> totals)
    : ChannelEnd(ends, std::move(totals)), route_(std::move(route)), tag_(tag), shape_(sizeof(MessageShape)) {}

MpiChannel::~MpiChannel() {
  if (transfers_.under_way == 0) return;
  std::vector<std::vector<std::byte>> memory;
  memory.push_back(std::move(shape_));
  memory.push_back(std::move(packed_));
  route_.link->abandon(transfers_, std::move(memory), route_.memory);
}

void MpiChannel::publish(Sources arrays, const MessageShape& shape) {
  MpiLink& link = *route_.link;
  link.check_aborted();
  const int to = ends().to;
  if (!is_packed(shape)) {
    for (const std::span<const std::byte>& array : arrays) check(array.data(), array.size());
  }
  std::memcpy(shape_.data(), &shape, sizeof(shape));
  count_moved(link.send(transfers_, shape_.data(), sizeof(shape), to, tag_, true));
  if (!is_packed(shape)) {
    for (const std::span<const std::byte>& array : arrays) {
      if (array.empty()) continue;
      count_moved(link.send(transfers_, array.data(), static_cast<int64_t>(array.size()), to, tag_));
    }
    return;
  }
  packed_.resize(shape.bytes);
  std::byte* next = packed_.data();
  for (const std::span<const std::byte>& array : arrays) {
    count_moved(copy_bytes(next, array.data(), static_cast<int64_t>(array.size())));
    next += array.size();
  }
  if (packed_.empty()) return;
  count_moved(link.send(transfers_, packed_.data(), static_cast<int64_t>(packed_.size()), to, tag_));
}

MessageShape MpiChannel::await_message() {
  route_.link->receive(transfers_, shape_.data(), sizeof(MessageShape), ends().from, tag_);
  wait();
  MessageShape shape;
  std::memcpy(&shape, shape_.data(), sizeof(shape));
  return shape;
}

void MpiChannel::take(Destinations arrays, const MessageShape& shape) {
  MpiLink& link = *route_.link;
  const int from = ends().from;
  if (!is_packed(shape)) {
    for (const std::span<std::byte>& array : arrays) check(array.data(), array.size());
    for (const std::span<std::byte>& array : arrays) {
      if (!array.empty()) link.receive(transfers_, array.data(), static_cast<int64_t>(array.size()), from, tag_);
    }
    return wait();
  }
  packed_.resize(shape.bytes);
  if (packed_.empty()) return;
  link.receive(transfers_, packed_.data(), static_cast<int64_t>(packed_.size()), from, tag_);
  wait();
  const std::byte* next = packed_.data();
  for (const std::span<std::byte>& array : arrays) {
    count_moved(copy_bytes(array.data(), next, static_cast<int64_t>(array.size())));
    next += array.size();
  }
}

bool MpiChannel::is_packed(const MessageShape& shape) const {
  return !route_.memory || shape.bytes <= ChannelBlock::payload_bytes;
}

void MpiChannel::check(const std::byte* array, size_t bytes) const {
  route_.memory->publish(array, static_cast<int64_t>(bytes));
}

void MpiChannel::wait() { route_.link->wait(transfers_, route_.region.get()); }

}  // namespace shardscope
