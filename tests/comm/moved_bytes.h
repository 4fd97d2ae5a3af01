#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/comm/channel.h"

// What each transport's algorithm must move (CommunicationRecord::moved_bytes), written down from the algorithm's
// description and not from its code: which bytes it copies, which it sums, which it hands to MPI.
namespace shardscope::checks {

enum class Kind { all_gather, all_reduce, reduce_scatter, all_to_all, permute };

// How the members of a group communicate.
struct Transport {
  enum class Way { alone, peers, messages, hosts };
  Way way = Way::peers;
  std::vector<int> hosts;  // by member, numbered in the order of first members; empty: all on one

  static Transport alone() { return {Way::alone, {}}; }
  static Transport messages() { return {Way::messages, {}}; }
  // A group whose members are all on one host shares memory.
  static Transport on(const std::vector<int>& hosts) {
    const bool one = std::ranges::all_of(hosts, [&](int host) { return host == hosts[0]; });
    return {one ? Way::peers : Way::hosts, numbered(hosts)};
  }
  Transport of(const std::vector<int>& members) const {
    if (hosts.empty()) return *this;
    std::vector<int> theirs;
    for (int member : members) theirs.push_back(hosts[static_cast<size_t>(member)]);
    return on(theirs);
  }

 private:
  static std::vector<int> numbered(const std::vector<int>& hosts) {
    std::vector<int> seen, result;
    for (int host : hosts) {
      const auto found = std::ranges::find(seen, host);
      result.push_back(static_cast<int>(found - seen.begin()));
      if (found == seen.end()) seen.push_back(host);
    }
    return result;
  }
};

// One array of a call: bytes of the source, of an element, and of an element of a partial sum.
struct MovedArray {
  int64_t source = 0, element = 4, partial = 4;
  bool in_place = false;
};

struct MovedCall {
  Kind kind = Kind::all_gather;
  int rank = 0, size = 1;
  int receiver = 0;      // permute: of what this rank sends; -1: nothing
  bool receives = true;  // permute: anything
  std::vector<MovedArray> arrays;

  int64_t sources() const {
    int64_t bytes = 0;
    for (const MovedArray& array : arrays) bytes += array.source;
    return bytes;
  }
  // Of a permute.
  int64_t sent() const { return receiver < 0 ? 0 : sources(); }
  int64_t received() const { return receives ? sources() : 0; }
  int64_t destinations() const {
    if (kind == Kind::all_gather) return sources() * size;
    return kind == Kind::reduce_scatter ? sources() / size : sources();
  }
  // Up to 8 KiB of sources, each begun on a multiple of 16, go through a block that is always readable.
  bool is_small() const {
    int64_t bytes = 0;
    for (const MovedArray& array : arrays) bytes += (array.source + 15) / 16 * 16;
    return bytes <= 8192;
  }
};

// Bytes of an array of `bytes` that member `index` sums in an all-reduce: lines of 16 elements, shared out evenly.
inline int64_t chunk_bytes(int64_t bytes, int64_t element, int index, int size) {
  const int64_t count = bytes / element, lines = (count + 15) / 16, each = (lines + size - 1) / size * 16;
  return (std::min(count, (index + 1) * each) - std::min(count, index * each)) * element;
}

// What `owner` gets of the sums of all arrays; of an all-reduce it is its chunk of each, which go round from array to
// array.
inline int64_t slice_bytes(const MovedCall& call, int owner) {
  if (call.kind == Kind::reduce_scatter) return call.sources() / call.size;
  int64_t bytes = 0;
  for (size_t i = 0; i < call.arrays.size(); ++i) {
    const int index = static_cast<int>((static_cast<size_t>(owner) + i) % static_cast<size_t>(call.size));
    bytes += chunk_bytes(call.arrays[i].source, call.arrays[i].element, index, call.size);
  }
  return bytes;
}

// A group of one copies sources to destinations that lie elsewhere.
inline int64_t moved_alone(const MovedCall& call) {
  int64_t bytes = 0;
  for (const MovedArray& array : call.arrays) bytes += array.in_place || call.receiver < 0 ? 0 : array.source;
  return bytes;
}

// Each member reads what it gets from the members' arrays, its own among them. A small call copies sources to the
// block first, and every member sums all of an all-reduce; of a large one it sums its slice and copies the others.
inline int64_t moved_by_peers(const MovedCall& call) {
  const int64_t sources = call.sources(), p = call.size;
  const bool reads_all = call.kind == Kind::all_gather || call.kind == Kind::all_reduce;
  if (call.kind == Kind::permute) return call.is_small() * call.sent() + call.received();
  if (call.is_small()) return sources + (reads_all ? p * sources : sources);
  if (call.kind != Kind::all_reduce) return reads_all ? p * sources : sources;
  const int64_t own = slice_bytes(call, call.rank);
  return p * own + sources - own;
}

// Packed, sent to the others (what stays is copied), unpacked or summed. An all-reduce shares out the packed sources,
// and sends sums a second time.
inline int64_t moved_by_messages(const MovedCall& call) {
  if (call.kind == Kind::permute) return 2 * call.sent() + call.received();
  const int64_t sources = call.sources(), p = call.size;
  const int64_t packed = sources, sent_or_kept = call.kind == Kind::all_gather ? p * sources : sources;
  if (call.kind != Kind::all_reduce) return packed + sent_or_kept + (call.kind == Kind::all_gather ? p : 1) * sources;
  const int64_t own = call.arrays.empty() ? 0 : chunk_bytes(sources, call.arrays[0].element, call.rank, call.size);
  return packed + sent_or_kept + p * own + p * own + sources;
}

// Of members on several hosts; see HostsCommunicator.
inline int64_t moved_between_hosts(const MovedCall& call, const std::vector<int>& hosts) {
  const int64_t sources = call.sources(), p = call.size;
  const int host = hosts[static_cast<size_t>(call.rank)];
  const int64_t host_count = *std::ranges::max_element(hosts) + 1, here = std::ranges::count(hosts, host);
  const auto local_index = [&](int member) {
    return std::count(hosts.begin(), hosts.begin() + member, hosts[static_cast<size_t>(member)]);
  };
  const auto is_here = [&](int member) { return hosts[static_cast<size_t>(member)] == host; };
  const int64_t staged = call.is_small() ? sources + call.destinations() : 0;
  switch (call.kind) {
    // Packed once, sent to each other host; pieces of this host read in place, those of others unpacked, or read where
    // a neighbour has unpacked them.
    case Kind::all_gather: return staged + sources + (host_count - 1) * sources + p * sources;
    // Packed, sent and unpacked across hosts; read in place on this one.
    case Kind::all_to_all: return staged + (3 * (p - here) + here) * (sources / p);
    case Kind::permute:
      return staged + (call.receiver < 0 || is_here(call.receiver) ? 0 : 2 * sources) + call.received();
    default: break;
  }
  // For each member of another host that gets its sum from here by this one: the sum over this host's members, and a
  // message of partial sums. Then its own slice, and the hosts' partial sums of it.
  const int64_t widening = call.arrays.empty() ? 1 : call.arrays[0].partial / call.arrays[0].element;
  int64_t bytes = staged;
  for (int other = 0; other < call.size; ++other) {
    if (!is_here(other) && local_index(other) % here == local_index(call.rank)) {
      bytes += (here + widening) * slice_bytes(call, other);
    }
  }
  const int64_t own = slice_bytes(call, call.rank);
  bytes += here * own + host_count * widening * own;
  if (call.kind == Kind::reduce_scatter) return bytes;
  // The sums, packed and sent to each other host; those of the others unpacked or read.
  return bytes + own + (host_count - 1) * own + sources - own;
}

inline int64_t moved_bytes(const MovedCall& call, const Transport& transport) {
  switch (transport.way) {
    case Transport::Way::alone: return moved_alone(call);
    case Transport::Way::peers: return moved_by_peers(call);
    case Transport::Way::messages: return moved_by_messages(call);
    case Transport::Way::hosts: return moved_between_hosts(call, transport.hosts);
  }
  return -1;
}

// Of a message over a channel from member `from` to `to`, on its sender and on its receiver. Between hosts, and where
// all goes by MPI, 24 bytes that describe it are sent first; where memory is shared, large arrays are sent from where
// they lie and received where they belong.
inline int64_t moved_by_channel(int64_t bytes, ChannelEnds ends, bool sends, const Transport& transport) {
  const auto host = [&](int member) {
    return transport.hosts.empty() ? 0 : transport.hosts[static_cast<size_t>(member)];
  };
  const bool is_small = bytes <= 8192;
  const bool only_messages = transport.way == Transport::Way::messages;
  if (!only_messages && host(ends.from) == host(ends.to)) return sends && !is_small ? 0 : bytes;
  const int64_t packed = is_small || only_messages ? bytes : 0;
  return sends ? packed + 24 + bytes : packed;
}

}  // namespace shardscope::checks
