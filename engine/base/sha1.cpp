#include "engine/base/sha1.h"

#include <openssl/sha.h>

namespace shardscope {

Sha1Digest sha1(std::string_view text) {
  Sha1Digest digest;
  SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return digest;
}

}  // namespace shardscope
