#include "engine/comm/mpi_link.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>
#include <thread>
#include <utility>

#include "engine/base/error.h"
#include "engine/comm/mpi_runtime.h"

namespace shardscope {

namespace {

constexpr int abort_tag = 0;
constexpr int quick_tests = 20;
constexpr std::chrono::microseconds first_sleep{10};
constexpr std::chrono::microseconds longest_sleep{200};

}  // namespace

MpiLink::MpiLink(int64_t max_message_bytes)
    : max_message_bytes_(std::clamp<int64_t>(max_message_bytes, 1, std::numeric_limits<int>::max())) {
  check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &communicator_), "MPI_Comm_dup", 0);
  check_mpi(MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler", 0);
  check_mpi(MPI_Comm_rank(communicator_, &rank_), "MPI_Comm_rank", 0);
  check_mpi(MPI_Comm_size(communicator_, &size_), "MPI_Comm_size", rank_);
  int* bound = nullptr;
  int found = 0;
  check_mpi(MPI_Comm_get_attr(communicator_, MPI_TAG_UB, &bound, &found), "MPI_Comm_get_attr", rank_);
  if (found) highest_tag_ = *bound;
}

void MpiLink::take_tags_below(int tag) {
  next_tag_ = std::max(next_tag_, tag);
  if (next_tag_ <= highest_tag_) return;
  throw Failure(Error{"comm_argument", "too many groups were split off and channels opened", on_rank(rank_), {}});
}

int64_t MpiLink::send(MpiTransfers& transfers, const std::byte* data, int64_t bytes, int to, int tag,
                      bool synchronous) {
  std::lock_guard lock(mutex_);
  int64_t first = 0;
  do {
    auto count = static_cast<int>(std::min(bytes - first, max_message_bytes_));
    MPI_Request request = MPI_REQUEST_NULL;
    const int code =
        (synchronous ? MPI_Issend : MPI_Isend)(data + first, count, MPI_BYTE, to, tag, communicator_, &request);
    check_mpi(code, synchronous ? "MPI_Issend" : "MPI_Isend", rank_);
    add_message(request, {&transfers, to, -1});
    first += count;
  } while (first < bytes);
  return first;
}

void MpiLink::receive(MpiTransfers& transfers, std::byte* data, int64_t bytes, int from, int tag) {
  std::lock_guard lock(mutex_);
  int64_t first = 0;
  do {
    auto count = static_cast<int>(std::min(bytes - first, max_message_bytes_));
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Irecv(data + first, count, MPI_BYTE, from, tag, communicator_, &request), "MPI_Irecv", rank_);
    add_message(request, {&transfers, from, count});
    first += count;
  } while (first < bytes);
}

void MpiLink::add_message(MPI_Request request, const Message& message) {
  requests_.push_back(request);
  messages_.push_back(message);
  ++message.owner->under_way;
}

void MpiLink::test() {
  if (requests_.empty()) return;
  std::lock_guard lock(mutex_);
  done_.resize(requests_.size());
  statuses_.resize(requests_.size());
  int count = 0;
  const int code =
      MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count, done_.data(), statuses_.data());
  if (code != MPI_ERR_IN_STATUS) check_mpi(code, "MPI_Testsome", rank_);
  for (int i = 0; i < count; ++i) {
    const Message& message = messages_[static_cast<size_t>(done_[static_cast<size_t>(i)])];
    const MPI_Status& status = statuses_[static_cast<size_t>(i)];
    if (code == MPI_ERR_IN_STATUS) {
      check_mpi(status.MPI_ERROR, ("a message with rank " + std::to_string(message.peer)).c_str(), rank_);
    }
    if (message.receive_bytes >= 0) check_received(status, message);
    --message.owner->under_way;
  }
  if (count > 0) remove_done();
}

void MpiLink::check_received(const MPI_Status& status, const Message& message) const {
  int bytes = 0;
  check_mpi(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count", rank_);
  if (bytes == message.receive_bytes) return;
  throw Failure(Error{"comm_argument",
                      "rank " + std::to_string(message.peer) + " sent " + std::to_string(bytes) + " bytes where " +
                          std::to_string(message.receive_bytes) + " were expected",
                      on_rank(rank_), "every member of a group makes the same calls in the same order"});
}

void MpiLink::remove_done() {
  size_t kept = 0;
  for (size_t i = 0; i < requests_.size(); ++i) {
    if (requests_[i] == MPI_REQUEST_NULL) continue;
    requests_[kept] = requests_[i];
    messages_[kept++] = messages_[i];
  }
  requests_.resize(kept);
  messages_.resize(kept);
}

void MpiLink::await(const MpiTransfers& transfers) {
  std::chrono::microseconds sleep = first_sleep;
  for (int tests = 0;; ++tests) {
    progress();
    if (transfers.under_way == 0) return;
    if (tests < quick_tests) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(sleep);
      sleep = std::min(sleep * 2, longest_sleep);
    }
  }
}

void MpiLink::wait(const MpiTransfers& transfers, ControlRegion* region) {
  if (transfers.under_way == 0) return;
  try {
    await(transfers);
  } catch (const Failure&) {
    if (region) region->abort(ControlRegion::Cause::called, aborted_by_ < 0 ? rank_ : aborted_by_.load());
    throw;
  }
}

void MpiLink::abandon(MpiTransfers& transfers, std::vector<std::vector<std::byte>> memory,
                      std::shared_ptr<const void> arena) noexcept {
  static std::vector<std::vector<std::byte>> abandoned;
  static std::vector<std::shared_ptr<const void>> abandoned_arenas;
  std::lock_guard lock(mutex_);
  if (arena) abandoned_arenas.push_back(std::move(arena));
  for (std::vector<std::byte>& bytes : memory) abandoned.push_back(std::move(bytes));
  int finalized = 0;
  const bool is_over = MPI_Finalized(&finalized) != MPI_SUCCESS || finalized;
  for (size_t i = 0; i < requests_.size(); ++i) {
    if (messages_[i].owner != &transfers) continue;
    MPI_Request request = std::exchange(requests_[i], MPI_REQUEST_NULL);
    if (request == MPI_REQUEST_NULL || is_over) continue;
    if (messages_[i].receive_bytes >= 0) MPI_Cancel(&request);
    MPI_Request_free(&request);
  }
  transfers.under_way = 0;
  remove_done();
}

void MpiLink::abort() noexcept {
  std::lock_guard lock(mutex_);
  if (aborted_by_ >= 0) return;
  aborted_by_ = rank_;
  for (int other = 0; other < size_; ++other) {
    if (other == rank_) continue;
    MPI_Request request = MPI_REQUEST_NULL;
    if (MPI_Isend(nullptr, 0, MPI_BYTE, other, abort_tag, communicator_, &request) == MPI_SUCCESS) {
      MPI_Request_free(&request);
    }
  }
}

void MpiLink::progress() {
  if (!requests_.empty() || aborted_by_ >= 0) check_aborted();
  test();
  for (MpiPending* pending : pending_) pending->advance();
}

void MpiLink::check_aborted() {
  std::lock_guard lock(mutex_);
  if (aborted_by_ < 0) {
    int found = 0;
    MPI_Status status;
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, abort_tag, communicator_, &found, &status), "MPI_Iprobe", rank_);
    if (!found) return;
    aborted_by_ = status.MPI_SOURCE;
    check_mpi(MPI_Recv(nullptr, 0, MPI_BYTE, status.MPI_SOURCE, abort_tag, communicator_, MPI_STATUS_IGNORE),
              "MPI_Recv", rank_);
  }
  throw Failure(Error{"comm_aborted", "rank " + std::to_string(aborted_by_) + " ended the run", on_rank(rank_), {}});
}

}  // namespace shardscope
