#include "engine/session/rank_seat.h"

#include <unistd.h>

#include <new>

#include "engine/base/error.h"
#include "engine/session/processes.h"
#include "engine/session/rank_words.h"

namespace shardscope {

namespace {

constexpr int orphaned = 1;

bool is_of_peer(const std::exception& error) {
  const auto* failure = dynamic_cast<const Failure*>(&error);
  if (!failure) return false;
  const std::string& code = failure->errors().front().code;
  return code == "comm_aborted" || code == "comm_mpi";
}

}  // namespace

RankSeat::RankSeat(const std::string& session_directory, std::optional<int> rank) : rank_(rank.value_or(-1)) {
  if (session_directory.empty()) return;
  die_with_parent();
  board_ = RankBoard::open(session_directory);
  if (!board_) return;
  if (!is_alive(board_->launcher())) ::_exit(orphaned);
  board_->sign(rank_, this_process());
}

void RankSeat::enter(RankPhase phase) noexcept {
  if (board_) board_->enter(rank_, phase);
}

void RankSeat::fail(const std::exception& error) noexcept {
  if (!board_) return;
  try {
    board_->fail(rank_, own_words(error, rank_), is_of_peer(error));
  } catch (const std::bad_alloc&) {
    board_->fail(rank_, error.what(), is_of_peer(error));
  }
}

}  // namespace shardscope
