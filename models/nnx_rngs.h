#pragma once

#include <cstdint>

#include "engine/base/random.h"
#include "engine/ops/initialise.h"

namespace shardscope {

// flax.nnx.Rngs(seed) as a network draws from it while it is constructed: one key a call, in order.
class NnxRngs {
 public:
  explicit NnxRngs(int64_t seed) : seed_(seed) {}
  // rngs.params().
  Key params() { return nnx_key(seed_, drawn_++); }
  // initializer(rngs.params(), shape).
  InitialiseAttributes draw(InitialiseAttributes initialiser) {
    initialiser.key = params();
    return initialiser;
  }
  // A constant for which a module draws a key all the same.
  InitialiseAttributes skip(InitialiseAttributes constant) {
    params();
    return constant;
  }

 private:
  int64_t seed_;
  uint32_t drawn_ = 0;
};

}  // namespace shardscope
