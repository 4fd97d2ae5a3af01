#include "engine/session/rank_registration.h"

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

RankRegistration::RankRegistration(const std::string& session_directory, std::optional<int> rank)
    : rank_(rank.value_or(-1)) {
  if (session_directory.empty()) return;
  die_with_parent();
  page_ = StatusPage::open(session_directory);
  if (!page_) return;
  if (!is_alive(page_->launcher())) ::_exit(orphaned);
  page_->sign(rank_, this_process());
}

void RankRegistration::enter(RankPhase phase) noexcept {
  if (page_) page_->enter(rank_, phase);
}

void RankRegistration::fail(const std::exception& error) noexcept {
  if (!page_) return;
  try {
    page_->fail(rank_, own_words(error, rank_), is_of_peer(error));
  } catch (const std::bad_alloc&) {
    page_->fail(rank_, error.what(), is_of_peer(error));
  }
}

}  // namespace shardscope
