#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace shardscope {

using Sha1Digest = std::array<uint8_t, 20>;

// SHA-1 (FIPS 180-4) of the bytes of `text`: only to derive keys as Flax does, not for security.
Sha1Digest sha1(std::string_view text);

}  // namespace shardscope
