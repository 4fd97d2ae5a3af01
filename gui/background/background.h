#pragma once

#include <QObject>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

#include "gui/background/worker_threads.h"

namespace shardscope {

// Tells in the thread in which it was made that there is something to take.
class Announcement : public QObject {
  Q_OBJECT
 signals:
  void made();
};

// Makes a value on another thread, for what takes longer than an event-loop iteration may. The newest wish wins: an
// older one that has not begun is dropped, one that has is asked to stop and what it still makes is dropped. Whoever
// owns this waits for nothing, not at its end.
template <class T>
class Background {
 public:
  using Make = std::function<T(const std::stop_token&)>;  // throws nothing

  // `take` is called in the thread of the owner. `threads`: for work so long that others should not wait for it those
  // of its own, which are not to go before this.
  explicit Background(std::function<void(T)> take, WorkerThreads& threads = WorkerThreads::shared())
      : take_(std::move(take)), threads_(threads) {
    seat_->announcement = &announcement_;
    QObject::connect(
        &announcement_, &Announcement::made, &announcement_, [this] { receive(); }, Qt::QueuedConnection);
  }
  ~Background() {
    stop_.request_stop();
    *is_dropped_ = true;
    const std::lock_guard lock(seat_->mutex);
    seat_->announcement = nullptr;
  }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  void make(Make how) {
    cancel();
    stop_ = std::stop_source();
    is_dropped_ = std::make_shared<std::atomic<bool>>(false);
    is_busy_ = true;
    threads_.start(
        [seat = seat_, number = number_, how = std::move(how), stop = stop_.get_token(), dropped = is_dropped_] {
          if (*dropped) return;
          T made = how(stop);
          const std::lock_guard lock(seat->mutex);
          if (!seat->announcement || *dropped) return;
          seat->made.emplace(number, std::move(made));
          emit seat->announcement->made();
        });
  }
  // Asks what is being made to come to its end; what it makes then is taken.
  void stop() { stop_.request_stop(); }
  void cancel() {
    stop_.request_stop();
    *is_dropped_ = true;
    ++number_;
    is_busy_ = false;
  }
  bool is_busy() const { return is_busy_; }

 private:
  struct Seat {
    std::mutex mutex;
    Announcement* announcement = nullptr;
    std::optional<std::pair<int, T>> made;  // with its number
  };

  void receive() {
    std::optional<std::pair<int, T>> made;
    {
      const std::lock_guard lock(seat_->mutex);
      made = std::exchange(seat_->made, std::nullopt);
    }
    if (!made || made->first != number_) return;
    is_busy_ = false;
    take_(std::move(made->second));
  }

  std::function<void(T)> take_;
  WorkerThreads& threads_;
  std::shared_ptr<Seat> seat_ = std::make_shared<Seat>();
  std::stop_source stop_;
  std::shared_ptr<std::atomic<bool>> is_dropped_ = std::make_shared<std::atomic<bool>>(false);
  int number_ = 0;
  bool is_busy_ = false;
  Announcement announcement_;
};

}  // namespace shardscope
