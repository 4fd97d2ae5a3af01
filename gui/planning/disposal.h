#pragma once

#include <functional>
#include <memory>
#include <utility>

namespace shardscope {

// A deep model's plan, and what is known of it, is some hundred thousand small pieces. Nobody waits for their end: they
// are taken apart on a thread of their own, and their memory goes back to the system.

// Does `end`, which lets go of what it holds, on that thread.
void let_go(std::function<void()> end);

// A value to share; who lets the last reference go does not wait.
template <class T>
std::shared_ptr<const T> share(T value) {
  return {new const T(std::move(value)), [](const T* old) { let_go([old] { delete old; }); }};
}

}  // namespace shardscope
