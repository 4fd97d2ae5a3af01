#pragma once

#include <QObject>
#include <memory>
#include <optional>

#include "engine/session/messages.h"
#include "gui/background/background.h"
#include "viz/paint/timeline_ranks.h"

namespace shardscope {

// What is measured of one training step, made ready to be drawn: on another thread, since a trace may have a million
// events. The newest wins; while one is being made, what it was before is still shown.
class TimelineBuilder : public QObject {
  Q_OBJECT
 public:
  explicit TimelineBuilder(QObject* parent = nullptr);

  using Trace = std::shared_ptr<const TraceMessage>;

  // A null trace (or one of another plan): there is nothing. Without effect where it is that which was taken last.
  void take(std::shared_ptr<const Plan> plan, Trace trace);
  bool is_busy() const { return background_.is_busy() || wanted_; }

  const std::shared_ptr<const MeasuredStep>& step() const { return step_; }  // null: nothing
  const Trace& trace() const { return trace_; }                              // that it is of

 signals:
  void built();

 private:
  struct Work {
    std::shared_ptr<const Plan> plan;
    Trace trace;
    bool operator==(const Work&) const = default;
  };

  void begin(Work work);
  void receive(std::shared_ptr<const MeasuredStep> step);

  Work taken_, running_;
  std::optional<Work> wanted_;  // while another is running
  std::shared_ptr<const MeasuredStep> step_;
  Trace trace_;
  Background<std::shared_ptr<const MeasuredStep>> background_;
};

}  // namespace shardscope
