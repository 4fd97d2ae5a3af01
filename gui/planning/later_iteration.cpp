#include "gui/planning/later_iteration.h"

#include <QCoreApplication>
#include <QPointer>
#include <QTimer>
#include <deque>
#include <utility>

namespace shardscope {
namespace {

struct Job {
  QPointer<QObject> context;
  std::function<void()> doing;
};

class Jobs : public QTimer {
 public:
  Jobs() {
    setSingleShot(true);
    connect(this, &QTimer::timeout, this, [this] { turn(); });
  }

  void add(Job job) {
    jobs_.push_back(std::move(job));
    if (!isActive()) wait();
  }

 private:
  // A timer that is due is part of the turn in which it was started: it is started twice for a job.
  void wait() {
    rests_ = true;
    start(0);
  }

  void turn() {
    if (std::exchange(rests_, false)) return start(0);
    const Job job = std::move(jobs_.front());
    jobs_.pop_front();
    if (!jobs_.empty()) wait();  // a job may open a dialog, which turns by itself
    if (job.context) job.doing();
  }

  std::deque<Job> jobs_;
  bool rests_ = true;
};

}  // namespace

void in_later_iteration(QObject* context, std::function<void()> doing) {
  static QPointer<Jobs> jobs;
  if (!jobs) {
    jobs = new Jobs;
    jobs->setParent(QCoreApplication::instance());
  }
  jobs->add({context, std::move(doing)});
}

}  // namespace shardscope
