#pragma once

#include <QMetaObject>
#include <QObject>
#include <QThreadPool>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <utility>

namespace shardscope {

// Makes a value on another thread, for what takes longer than a turn of the event loop may. The newest wish wins: an
// older one that has not begun is dropped, one that has is asked to stop and what it still makes is dropped. Whoever
// owns this waits for nothing, not at its end.
template <class T>
class Background {
 public:
  using Make = std::function<T(const std::stop_token&)>;  // throws nothing

  // `take` is called in the thread of the owner. `pool`: for work so long that others should not wait for it one of its
  // own, which is not to go before this.
  explicit Background(std::function<void(T)> take, QThreadPool& pool = *QThreadPool::globalInstance())
      : take_(std::move(take)), pool_(pool) {
    seat_->owner = this;
  }
  ~Background() {
    stop_.request_stop();
    *is_dropped_ = true;
    const std::lock_guard lock(seat_->mutex);
    seat_->owner = nullptr;
  }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  void make(Make how) {
    cancel();
    stop_ = std::stop_source();
    is_dropped_ = std::make_shared<std::atomic<bool>>(false);
    is_busy_ = true;
    pool_.start(
        [seat = seat_, number = number_, how = std::move(how), stop = stop_.get_token(), dropped = is_dropped_] {
          if (*dropped) return;
          auto made = std::make_shared<T>(how(stop));
          const std::lock_guard lock(seat->mutex);
          if (!seat->owner) return;
          const auto deliver = [seat, number, made] { seat->owner->receive(number, *made); };
          QMetaObject::invokeMethod(&seat->owner->context_, deliver, Qt::QueuedConnection);
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
    Background* owner = nullptr;
  };

  void receive(int number, T& made) {
    if (number != number_) return;
    is_busy_ = false;
    take_(std::move(made));
  }

  std::function<void(T)> take_;
  QThreadPool& pool_;
  std::shared_ptr<Seat> seat_ = std::make_shared<Seat>();
  std::stop_source stop_;
  std::shared_ptr<std::atomic<bool>> is_dropped_ = std::make_shared<std::atomic<bool>>(false);
  int number_ = 0;
  bool is_busy_ = false;
  QObject context_;
};

}  // namespace shardscope
