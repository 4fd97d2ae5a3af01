#pragma once

#include <cstdint>

namespace shardscope {

// What one operation (a collective from start to finish; a call of a channel) cost this rank.
//
//   wire_bytes   sent by the ring convention, from the call's arguments alone: all-reduce 2(p-1)/p n, all-gather and
//                reduce-scatter (p-1)/p of the full size, all-to-all (p-1)/p n, permute and send n,
//                nothing of a permute in which it sends nothing.
//   moved_bytes  really moved, counted where the transport moves them: each byte that it read to copy it (its own or a
//                peer's) or to sum it, and each that it handed to MPI; a byte packed, sent and unpacked counts three
//                times, two of them on the sender. What MPI does by itself is not seen. With p members and n bytes of
//                sources of each, of more than 8 KiB:
//                                  ranks of one host             MPI
//                   all-gather     p n                           (2p+1) n
//                   reduce-scatter, all-to-all, permute   n      3 n
//                   all-reduce     (2p-1)/p n                    5 n        (p divides n)
//   waited_ns    slept because peers had not come. Only finish, and the calls of channels, wait. 0 where waiting cannot
//                be separated from transfer (collectives by MPI alone).
//   transfer_ns  the other time in the operation's calls, and the time between them in which messages of it were under
//                way, as far as this rank saw. Nothing is under way between the calls of ranks that share memory, so
//                that start + finish = waited_ns + transfer_ns; by MPI, transfer_ns may exceed them by what other work
//                has hidden.
struct CommunicationRecord {
  double wire_bytes = 0;
  int64_t moved_bytes = 0;
  int64_t waited_ns = 0;
  int64_t transfer_ns = 0;

  CommunicationRecord& operator+=(const CommunicationRecord& other) {
    wire_bytes += other.wire_bytes;
    moved_bytes += other.moved_bytes;
    waited_ns += other.waited_ns;
    transfer_ns += other.transfer_ns;
    return *this;
  }
  bool operator==(const CommunicationRecord&) const = default;
};

}  // namespace shardscope
