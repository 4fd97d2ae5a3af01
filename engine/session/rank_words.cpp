#include "engine/session/rank_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/error.h"

namespace shardscope {

std::string own_words(const std::exception& error, int rank) {
  const auto* failure = dynamic_cast<const Failure*>(&error);
  if (!failure) return error.what();
  std::vector<Error> errors = failure->errors();
  for (Error& one : errors) {
    if (one.place.rank == rank) one.place.rank = -1;
  }
  return Failure(std::move(errors)).what();
}

bool has_ended(const RankObservation& rank) {
  return rank.process.pid != 0 && (rank.process_state == 0 || rank.process_state == 'Z' || rank.process_state == 'X');
}

bool has_finished(const RankObservation& rank) { return rank.status && rank.status->state == RankState::finished; }

bool is_done(const RankObservation& rank) {
  return has_finished(rank) && has_ended(rank) && rank.exit_status.value_or(0) == 0;
}

bool has_failed(const RankObservation& rank) {
  return rank.entry.failed_ns != 0 || (rank.status && rank.status->state == RankState::failed);
}

bool is_halted(char process_state) { return process_state == 'T' || process_state == frozen_process; }

RankPhase phase_of(const RankObservation& rank) {
  RankPhase known = rank.entry.phase;
  if (rank.status) known = std::max(known, RankPhase::planning);
  if (rank.status && rank.status->state == RankState::running) known = std::max(known, RankPhase::training);
  return has_finished(rank) ? RankPhase::finishing : known;
}

std::string own_words(const RankObservation& observation) {
  if (observation.entry.failed_ns != 0) return observation.entry.error;
  return observation.status ? observation.status->error_text : "";
}

std::string current_op(const RankObservation& rank, std::span<const PlanStepName> plan_steps) {
  if (!rank.status || rank.status->plan_step < 0) return "";
  const auto index = static_cast<size_t>(rank.status->plan_step);
  return index < plan_steps.size() ? plan_steps[index].name : fmt::format("instruction {}", index);
}

std::string place_of(const RankObservation& rank, std::span<const PlanStepName> plan_steps) {
  if (has_finished(rank)) return " after the end of training";
  const RankPhase phase = phase_of(rank);
  if (phase == RankPhase::launching) return " before it could start";
  if (phase == RankPhase::saving) return " while writing a checkpoint";
  if (phase != RankPhase::training) return fmt::format(" while {}", name(phase));
  if (!rank.status || rank.status->training_step < 0) return " before the first training step";
  const std::string op = current_op(rank, plan_steps);
  return fmt::format(" in training step {}", rank.status->training_step) +
         (op.empty() ? "" : fmt::format(", at '{}'", op));
}

std::string list_ranks(std::span<const int> ranks) {
  constexpr size_t listed = 8;
  if (ranks.size() == 1) return fmt::format("rank {}", ranks[0]);
  if (ranks.size() > listed)
    return fmt::format("{} ranks ({} ...)", ranks.size(), fmt::join(ranks.first(listed), ", "));
  return fmt::format("ranks {} and {}", fmt::join(ranks.first(ranks.size() - 1), ", "), ranks.back());
}

}  // namespace shardscope
