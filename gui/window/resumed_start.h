#pragma once

#include <QWidget>
#include <memory>

#include "gui/background/background.h"
#include "gui/run/run_control.h"

namespace shardscope {

// Starts a run that goes on from a checkpoint. Where the data are not those with which it was trained it asks first;
// files are compared on another thread.
class ResumedStart {
 public:
  // `window`: what the question belongs to.
  ResumedStart(RunControl& run, QWidget& window);

  void start(std::shared_ptr<const Plan> plan, const QString& checkpoint);
  // Files are being compared.
  bool is_busy() const { return comparing_.is_busy(); }

 private:
  struct Compared {
    std::shared_ptr<const Plan> plan;
    QString checkpoint, changes;
  };

  void take(const Compared& compared);
  bool may_train_on(const QString& changes);

  RunControl& run_;
  QWidget& window_;
  Background<Compared> comparing_;
};

}  // namespace shardscope
