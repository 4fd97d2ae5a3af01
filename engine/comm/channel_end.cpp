#include "engine/comm/channel_end.h"

#include <chrono>

#include <fmt/format.h>

#include "engine/base/plural.h"

namespace shardscope {

template <class Array>
MessageShape ChannelEnd::shape_of(std::span<const Array> arrays) const {
  if (arrays.size() > max_arrays) {
    fail(fmt::format("a message of {} arrays to rank {}", arrays.size(), ends_.to),
         fmt::format("at most {}", max_arrays));
  }
  MessageShape shape{arrays.size(), 0, 0};
  for (const Array& array : arrays) {
    shape.bytes += array.size();
    shape.signature = (shape.signature ^ array.size()) * 0x9E3779B97F4A7C15u;
  }
  return shape;
}

template <class Call>
CommunicationRecord ChannelEnd::recorded(const Call& call) {
  const auto start = std::chrono::steady_clock::now();
  record_ = {};
  call();
  const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - start;
  record_.transfer_ns = took.count() - record_.waited_ns;
  totals_->records += record_;
  return record_;
}

template <class Wait>
void ChannelEnd::count_waiting(const Wait& wait) {
  const auto start = std::chrono::steady_clock::now();
  wait();
  record_.waited_ns += std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
}

void ChannelEnd::wait_until_taken() {
  if (!under_way_) return;
  count_waiting([&] { await_taken(); });
  under_way_ = false;
}

CommunicationRecord ChannelEnd::start_send(Sources arrays) {
  if (!ends_.sends) fail(fmt::format("a message was sent to rank {}, which is this rank's sender", ends_.from));
  const MessageShape shape = shape_of(arrays);
  return recorded([&] {
    wait_until_taken();
    publish(arrays, shape);
    under_way_ = true;
    record_.wire_bytes = static_cast<double>(shape.bytes);
  });
}

CommunicationRecord ChannelEnd::finish_send() {
  if (!under_way_) return {};
  return recorded([&] { wait_until_taken(); });
}

CommunicationRecord ChannelEnd::receive(Destinations arrays) {
  if (ends_.sends) fail(fmt::format("a message was awaited from rank {}, which is this rank's receiver", ends_.to));
  const MessageShape expected = shape_of(arrays);
  return recorded([&] {
    MessageShape found;
    count_waiting([&] { found = await_message(); });
    if (found == expected) return take(arrays, expected);
    fail(fmt::format("rank {} sent {} ({}) where rank {} expected {} ({}){}", ends_.from,
                     counted(found.arrays, "array"), counted(found.bytes, "byte"), ends_.to,
                     counted(expected.arrays, "array"), counted(expected.bytes, "byte"),
                     found.arrays == expected.arrays && found.bytes == expected.bytes ? " of other sizes" : ""),
         "both ends of a channel give the same sizes in the same order");
  });
}

void ChannelEnd::fail(std::string message, std::string hint) const {
  throw Failure(Error{"comm_argument", std::move(message), on_rank(ends_.own()), std::move(hint)});
}

}  // namespace shardscope
