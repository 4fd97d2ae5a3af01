#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace shardscope {

// Sleeps while `word` is `value`, at most `timeout`; may return early for no reason. Works between processes that
// share the word's page. False when the time is over.
bool futex_wait(std::atomic<uint32_t>& word, uint32_t value, std::chrono::milliseconds timeout) noexcept;
void futex_wake_all(std::atomic<uint32_t>& word) noexcept;

}  // namespace shardscope
