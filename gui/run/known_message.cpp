#include "gui/run/known_message.h"

#include <algorithm>
#include <span>

namespace shardscope {
namespace {

void keep_known_of(std::span<StepMessage> steps, const HelloMessage& hello) {
  for (StepMessage& step : steps) {
    std::erase_if(step.metrics, [&](const MetricValue& each) { return !std::ranges::count(hello.metrics, each.name); });
    std::erase_if(step.ranks, [&](const RankMeasurement& each) { return each.rank >= hello.ranks; });
  }
}

void keep_known_of(std::span<LogMessage> lines, const HelloMessage& hello) {
  for (LogMessage& line : lines)
    if (line.rank >= hello.ranks) line.rank = -1;
}

}  // namespace

bool keep_known(Message& message, const HelloMessage& hello) {
  if (auto* step = std::get_if<StepMessage>(&message)) {
    keep_known_of(std::span(step, 1), hello);
  } else if (auto* answer = std::get_if<StepsMessage>(&message)) {
    keep_known_of(answer->steps, hello);
  } else if (auto* line = std::get_if<LogMessage>(&message)) {
    keep_known_of(std::span(line, 1), hello);
  } else if (auto* snapshot = std::get_if<SnapshotMessage>(&message)) {
    keep_known_of(snapshot->past, hello);
    keep_known_of(snapshot->steps, hello);
    keep_known_of(snapshot->log, hello);
    std::erase_if(snapshot->ranks, [&](const RankStateMessage& each) { return each.rank >= hello.ranks; });
  }
  const auto* rank = std::get_if<RankStateMessage>(&message);
  return !rank || rank->rank < hello.ranks;
}

}  // namespace shardscope
