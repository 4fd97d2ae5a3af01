#include "engine/comm/mpi_operation.h"

#include <utility>

namespace shardscope {

MpiOperation::MpiOperation(std::shared_ptr<MpiLink> link, std::shared_ptr<ControlRegion> region)
    : link_(std::move(link)), region_(std::move(region)) {}

MpiOperation::~MpiOperation() {
  link_->remove(*this);
  if (transfers.under_way == 0) return;
  std::vector<std::vector<std::byte>> memory;
  memory.push_back(std::move(sent));
  memory.push_back(std::move(received));
  link_->abandon(transfers, std::move(memory));
}

void MpiOperation::begin(MpiStages stages) {
  stages_ = std::move(stages);
  stages_.resume();
  progress();
  link_->add(*this);
  seen_ = Clock::now();
}

void MpiOperation::advance() {
  const Clock::time_point now = Clock::now();
  const Clock::time_point since = transfers.under_way == 0 ? now : seen_;
  progress();
  seen_ = Clock::now();
  record.transfer_ns += std::chrono::nanoseconds(seen_ - since).count();
}

void MpiOperation::finish() {
  link_->remove(*this);
  if (transfers.under_way > 0) record.transfer_ns += std::chrono::nanoseconds(Clock::now() - seen_).count();
  while (!stages_.is_done()) {
    switch (stages_.awaits()) {
      case MpiStages::Await::peers: await_peers(); break;
      case MpiStages::Await::messages: link_->wait(transfers, region_.get()); break;
      case MpiStages::Await::finish: break;
    }
    stages_.resume();
  }
}

bool MpiOperation::is_ready() {
  switch (stages_.awaits()) {
    case MpiStages::Await::peers: return have_peers_come();
    case MpiStages::Await::messages: return transfers.under_way == 0;
    case MpiStages::Await::finish: break;
  }
  return false;
}

void MpiOperation::progress() {
  while (!stages_.is_done() && is_ready()) stages_.resume();
}

}  // namespace shardscope
