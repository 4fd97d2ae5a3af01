#include "engine/base/hash.h"

#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

namespace shardscope {

struct Hasher::State {
  XXH3_state_t xxh;
};

uint64_t hash_bytes(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

uint64_t hash_bytes(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

Hasher::Hasher() : state_(std::make_unique<State>()) {
  XXH3_INITSTATE(&state_->xxh);
  XXH3_64bits_reset(&state_->xxh);
}
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

Hasher& Hasher::add_bytes(std::span<const std::byte> bytes) {
  flush();
  XXH3_64bits_update(&state_->xxh, bytes.data(), bytes.size());
  return *this;
}

void Hasher::flush() {
  XXH3_64bits_update(&state_->xxh, buffer_.data(), held_);
  held_ = 0;
}

Hasher& Hasher::add(std::string_view text) {
  add(uint64_t{text.size()});
  return add_bytes(std::as_bytes(std::span(text.data(), text.size())));
}

uint64_t Hasher::digest() {
  flush();
  return XXH3_64bits_digest(&state_->xxh);
}

}  // namespace shardscope
