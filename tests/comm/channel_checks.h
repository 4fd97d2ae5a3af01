#pragma once

#include <algorithm>
#include <array>
#include <random>

#include "tests/comm/collective_checks.h"

// Checks that the channels of every implementation must pass. All ranks of a group know which messages are sent over
// which channels: they follow from the seed, as does every byte of a message from its key. A check throws
// std::runtime_error; every rank of the group calls it with the same arguments.
namespace shardscope::checks {

struct Message {
  size_t channel = 0;
  uint64_t key = 0;
  std::vector<int64_t> sizes;  // of its arrays

  int64_t bytes() const { return std::accumulate(sizes.begin(), sizes.end(), int64_t{0}); }
};

// In one round each channel is used at most once, so that both ends may use its channels in any order.
struct Traffic {
  std::vector<ChannelEnds> ends;
  std::vector<std::vector<Message>> rounds;
};

constexpr int64_t small_message = 8192, longest_array = 20'000, longest_message = 4 * longest_array;

inline std::byte byte_of(uint64_t key, size_t array, size_t index) {
  return static_cast<std::byte>(mix(key + array, index / 8) >> index % 8 * 8);
}

inline std::vector<int64_t> random_sizes(std::mt19937_64& random) {
  auto draw = [&](int64_t low, int64_t high) { return low + static_cast<int64_t>(random() % (high - low + 1)); };
  switch (draw(0, 9)) {
    case 0: return {};
    case 1: return std::vector<int64_t>(Channel::max_arrays, draw(0, 20));
    case 2: return {small_message - 5, draw(4, 6)};
    default: break;
  }
  std::vector<int64_t> sizes(static_cast<size_t>(draw(1, 4)));
  for (int64_t& size : sizes) size = draw(0, draw(0, 2) == 0 ? longest_array : 300);
  return sizes;
}

inline Traffic random_traffic(uint64_t seed, int size, int rounds) {
  std::mt19937_64 random(seed);
  Traffic traffic;
  const size_t channels = 1 + random() % 12;
  while (traffic.ends.size() < channels) {
    const auto from = static_cast<int>(random() % static_cast<uint64_t>(size));
    const auto to = static_cast<int>(random() % static_cast<uint64_t>(size));
    if (from != to) traffic.ends.push_back({from, to});
  }
  for (int round = 0; round < rounds; ++round) {
    std::vector<Message>& messages = traffic.rounds.emplace_back();
    for (size_t channel = 0; channel < channels; ++channel) {
      if (random() % 3 > 0) messages.push_back({channel, random(), random_sizes(random)});
    }
  }
  return traffic;
}

// Arrays of a message one after the other, each behind a gap, so that addresses are odd and even.
struct Placed {
  std::vector<std::span<std::byte>> arrays;
  std::vector<std::span<const std::byte>> sources;
};

inline Placed place(const Message& message, std::span<std::byte> room, int64_t gap) {
  Placed placed;
  std::byte* next = room.data();
  for (int64_t size : message.sizes) {
    next += gap;
    placed.arrays.push_back({next, static_cast<size_t>(size)});
    placed.sources.push_back(placed.arrays.back());
    next += size;
  }
  require(next + gap <= room.data() + room.size(), "the test's room is too small");
  return placed;
}

inline void fill(const Placed& placed, uint64_t key) {
  for (size_t a = 0; a < placed.arrays.size(); ++a) {
    for (size_t i = 0; i < placed.arrays[a].size(); ++i) placed.arrays[a][i] = byte_of(key, a, i);
  }
}

inline void require_content(const Placed& placed, uint64_t key, const std::string& what) {
  for (size_t a = 0; a < placed.arrays.size(); ++a) {
    for (size_t i = 0; i < placed.arrays[a].size(); ++i) {
      if (placed.arrays[a][i] == byte_of(key, a, i)) continue;
      throw std::runtime_error(what + ", array " + std::to_string(a) + ", byte " + std::to_string(i));
    }
  }
}

// One rank's part in random traffic.
class TrafficRank {
 public:
  TrafficRank(Communicator& all, std::span<std::byte> arena, uint64_t seed, Traffic traffic, Transport transport)
      : all_(all),
        transport_(std::move(transport)),
        traffic_(std::move(traffic)),
        random_(mix(seed, static_cast<uint64_t>(all.rank()))),
        channels_(all.open_channels(traffic_.ends)),
        name_("traffic " + std::to_string(seed) + ", rank " + std::to_string(all.rank()) + ": "),
        sent_(traffic_.ends.size()) {
    Pieces pieces(arena);
    for (size_t i = 0; i < channels_.size(); ++i) {
      const bool sends = traffic_.ends[i].from == all.rank(), receives = traffic_.ends[i].to == all.rank();
      require((channels_[i] != nullptr) == (sends || receives), name_ + "which channels it has");
      if (!sends) continue;
      for (Outgoing& outgoing : sent_[i].last) outgoing.arena = take(pieces);
    }
    incoming_ = take(pieces);
  }

  void run() {
    for (std::vector<Message>& messages : traffic_.rounds) {
      std::ranges::shuffle(messages, random_);
      for (const Message& message : messages) {
        if (traffic_.ends[message.channel].from == all_.rank()) send(message);
      }
      std::ranges::shuffle(messages, random_);
      for (const Message& message : messages) {
        if (traffic_.ends[message.channel].to == all_.rank()) receive(message);
      }
      if (messages.size() % 3 == 0) all_.barrier();
    }
    for (size_t i = 0; i < channels_.size(); ++i) {
      if (traffic_.ends[i].from == all_.rank()) finish(i);
    }
    all_.barrier();
  }

 private:
  // A message's arrays lie in the arena, or, of small ones, anywhere.
  struct Outgoing {
    std::span<std::byte> arena;
    std::vector<std::byte> anywhere;
    Placed placed;
    uint64_t key = 0;
  };
  // Of a channel: the message under way and the one before it.
  struct Sent {
    std::array<Outgoing, 2> last;
    size_t next = 0;
  };

  static constexpr int64_t gap = 65;
  static int64_t room_for(const Message& message) {
    return message.bytes() + gap * static_cast<int64_t>(message.sizes.size() + 1);
  }
  static std::span<std::byte> take(Pieces& pieces) {
    constexpr int64_t bytes = longest_message + gap * static_cast<int64_t>(Channel::max_arrays + 1);
    return {pieces.take(bytes), static_cast<size_t>(bytes)};
  }

  bool chance(uint64_t one_in) { return random_() % one_in == 0; }
  void dawdle() {
    if (chance(4)) give_way(random_() % 30);
    if (chance(2)) all_.progress();
  }

  void send(const Message& message) {
    dawdle();
    Sent& sent = sent_[message.channel];
    if (chance(3)) finish(message.channel);
    Outgoing& outgoing = sent.last[sent.next];
    sent.next ^= 1;
    require_content(outgoing.placed, outgoing.key, name_ + "a source was changed");
    std::span<std::byte> room = outgoing.arena;
    if (message.bytes() <= small_message && chance(2)) {
      outgoing.anywhere.resize(static_cast<size_t>(room_for(message)));
      room = outgoing.anywhere;
    }
    outgoing.placed = place(message, room, gap);
    outgoing.key = message.key;
    fill(outgoing.placed, message.key);
    const double before = all_.wire_bytes();
    const int64_t moved = all_.moved_bytes();
    channels_[message.channel]->start_send(outgoing.placed.sources);
    require_moved(message, true, moved);
    const double counted = all_.wire_bytes() - before;
    require(std::abs(counted - static_cast<double>(message.bytes())) <= 1e-6 * (1 + counted), name_ + "bytes sent");
  }

  void receive(const Message& message) {
    dawdle();
    std::vector<std::byte> anywhere;
    std::span<std::byte> room = incoming_;
    if (message.bytes() <= small_message && chance(2)) {
      anywhere.resize(static_cast<size_t>(room_for(message)));
      room = anywhere;
    }
    const Placed placed = place(message, room, gap);
    const std::span<std::byte> used = room.first(static_cast<size_t>(room_for(message)));
    std::ranges::fill(used, std::byte{0xA5});
    const double before = all_.wire_bytes();
    const int64_t moved = all_.moved_bytes();
    channels_[message.channel]->receive(placed.arrays);
    require_moved(message, false, moved);
    require(all_.wire_bytes() == before, name_ + "a receiver sends nothing");
    require_content(placed, message.key, name_ + "received");
    const std::byte* next = used.data();
    for (size_t a = 0; a <= placed.arrays.size(); ++a) {
      require(std::all_of(next, next + gap, [](std::byte byte) { return byte == std::byte{0xA5}; }),
              name_ + "written beside array " + std::to_string(a));
      if (a < placed.arrays.size()) next += gap + static_cast<int64_t>(placed.arrays[a].size());
    }
  }

  void require_moved(const Message& message, bool sends, int64_t before) const {
    const int64_t must_move = moved_by_channel(message.bytes(), traffic_.ends[message.channel], sends, transport_);
    const int64_t moved = all_.moved_bytes() - before;
    require(moved == must_move, name_ + (sends ? "sending" : "receiving") + " moved " + std::to_string(moved) +
                                    " bytes, not " + std::to_string(must_move));
  }

  void finish(size_t channel) {
    channels_[channel]->finish_send();
    channels_[channel]->finish_send();
  }

  Communicator& all_;
  Transport transport_;
  Traffic traffic_;
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<Channel>> channels_;
  std::string name_;
  std::vector<Sent> sent_;
  std::span<std::byte> incoming_;
};

// Random messages over random channels of this group and of a group that is split off it; and a round trip over
// channels that outlive their communicator.
inline void check_channels(Communicator& all, std::span<std::byte> arena, uint64_t seed, int times, int rounds,
                           const Transport& transport = {}) {
  const int rank = all.rank(), size = all.size();
  for (int i = 0; i < times; ++i) {
    const uint64_t each = mix(seed, static_cast<uint64_t>(i));
    if (size > 1) TrafficRank(all, arena, each, random_traffic(each, size, rounds), transport).run();
    const int groups = 1 + static_cast<int>(each % 3);
    std::unique_ptr<Communicator> part = all.split(rank % groups, -rank);
    std::vector<int> members;
    for (int other = size; other-- > 0;) {
      if (other % groups == rank % groups) members.push_back(other);
    }
    if (part->size() == 1) require(part->open_channels({}).empty(), "no channels");
    else
      TrafficRank(*part, arena, each + 1, random_traffic(each + 1, part->size(), rounds), transport.of(members)).run();
  }
  std::unique_ptr<Communicator> same = all.split(0, rank);
  std::vector<ChannelEnds> ring;
  for (int from = 0; size > 1 && from < size; ++from) ring.push_back({from, (from + 1) % size});
  std::vector<std::unique_ptr<Channel>> channels = same->open_channels(ring);
  same.reset();
  if (size == 1) return;
  const Message sent{0, static_cast<uint64_t>(rank), {longest_array}};
  Pieces pieces(arena);
  const size_t bytes = longest_array + 2;
  const Placed from = place(sent, {pieces.take(bytes), bytes}, 1), to = place(sent, {pieces.take(bytes), bytes}, 1);
  fill(from, sent.key);
  const size_t before = static_cast<size_t>((rank + size - 1) % size);
  channels[static_cast<size_t>(rank)]->start_send(from.sources);
  channels[before]->receive(to.arrays);
  require_content(to, before, "from the rank before");
  channels[static_cast<size_t>(rank)]->finish_send();
  all.barrier();
}

}  // namespace shardscope::checks
