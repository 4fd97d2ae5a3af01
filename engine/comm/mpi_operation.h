#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include "engine/comm/collective_operation.h"
#include "engine/comm/mpi_link.h"
#include "engine/comm/mpi_stages.h"

namespace shardscope {

// A collective that sends messages, with its own of them, so that several may be open. From begin() to finish() the
// link takes it on whenever it progresses, up to the stages that belong to finish. Its time in begin() and finish() is
// recorded by the communicator, the time between them here (CommunicationRecord::transfer_ns). Messages under way when
// it is destroyed are abandoned.
class MpiOperation : public CollectiveOperation, private MpiPending {
 public:
  // `region`, where there is one, is notified of what ends a wait for messages.
  MpiOperation(std::shared_ptr<MpiLink> link, std::shared_ptr<ControlRegion> region);
  ~MpiOperation() override;

  // Goes on until it would have to wait.
  void begin(MpiStages stages);
  // To the end; waits.
  void finish();

  MpiTransfers transfers;
  std::vector<std::byte> sent, received;

 protected:
  // Of this host, in groups that have any: have all come, and a wait until they have, which is recorded.
  virtual bool have_peers_come() { return true; }
  virtual void await_peers() {}

 private:
  using Clock = std::chrono::steady_clock;

  void advance() override;
  bool is_ready();
  void progress();

  std::shared_ptr<MpiLink> link_;
  std::shared_ptr<ControlRegion> region_;
  MpiStages stages_;
  Clock::time_point seen_;  // when it was left with messages under way
};

}  // namespace shardscope
