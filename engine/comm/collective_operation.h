#pragma once

#include <cstdint>

#include "engine/comm/collective_call.h"
#include "engine/comm/communicator.h"

namespace shardscope {

// A collective between its start and its finish. Kept for later ones, so that a repeated call allocates nothing; one
// that fails is destroyed, as are those that are open when their communicator is.
struct CollectiveOperation {
  CollectiveOperation() = default;
  virtual ~CollectiveOperation() = default;
  CollectiveOperation(const CollectiveOperation&) = delete;
  CollectiveOperation& operator=(const CollectiveOperation&) = delete;

  // Adds to moved_bytes what a copy or a sum read, or a send handed to MPI.
  void count_moved(int64_t bytes) { record.moved_bytes += bytes; }

  CollectiveCall call;
  uint64_t number = 0;  // of the group's operations, from 0; the same on all members
  Communicator::Ticket ticket = 0;
  CommunicationRecord record;
};

}  // namespace shardscope
