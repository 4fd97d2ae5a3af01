#pragma once

#include <coroutine>
#include <cstdint>
#include <exception>
#include <utility>

namespace shardscope {

// An operation of several stages, written as one function that says where it cannot go on by itself, and is resumed
// there once it can:
//
//   MpiStages sum(Operation& operation) {
//     send(operation);
//     co_await MpiStages::Await::messages;
//     ...
//   }
//
// The function begins with the first resume(). What it refers to must outlive this.
class MpiStages {
 public:
  // The members of this host have come; the messages under way are done; nothing, but what follows is to be done by
  // finish, since no message depends on it.
  enum class Await : uint8_t { peers, messages, finish };

  struct promise_type {
    MpiStages get_return_object() { return MpiStages(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always await_transform(Await what) noexcept {
      awaits = what;
      return {};
    }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { failure = std::current_exception(); }

    Await awaits{};
    std::exception_ptr failure;
  };

  MpiStages() = default;
  MpiStages(MpiStages&& other) noexcept : frame_(std::exchange(other.frame_, {})) {}
  MpiStages& operator=(MpiStages&& other) noexcept {
    std::swap(frame_, other.frame_);
    return *this;
  }
  ~MpiStages() {
    if (frame_) frame_.destroy();
  }

  // To the next await or the end. Throws what the function throws.
  void resume() {
    frame_.resume();
    check();
  }
  // Throws again what the function has thrown.
  bool is_done() const {
    check();
    return frame_.done();
  }
  Await awaits() const { return frame_.promise().awaits; }

 private:
  explicit MpiStages(std::coroutine_handle<promise_type> frame) : frame_(frame) {}
  void check() const {
    if (frame_.promise().failure) std::rethrow_exception(frame_.promise().failure);
  }

  std::coroutine_handle<promise_type> frame_;
};

}  // namespace shardscope
