#include "engine/runtime/kernels/rearrangement.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/runtime/kernels/parallel.h"

namespace shardscope {

Rearrangement::Rearrangement(const Shape& sizes, const std::vector<int>& source, const std::vector<int>& destination,
                             int64_t element_bytes)
    : element_bytes_(element_bytes) {
  std::vector<int> all(sizes.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
  if (!std::is_permutation(all.begin(), all.end(), source.begin(), source.end()) ||
      !std::is_permutation(all.begin(), all.end(), destination.begin(), destination.end())) {
    throw Failure(Error{"rearrange", "source and destination do not list each factor once", "", ""});
  }
  std::vector<int64_t> strides(sizes.size(), 1);
  int64_t stride = 1;
  for (size_t i = source.size(); i-- > 0;) {
    strides[source[i]] = stride;
    stride *= sizes[source[i]];
  }
  // Neighbours in both orders become one dimension.
  for (int factor : destination) {
    if (sizes[factor] == 1) continue;
    if (!outer_.empty() && outer_.back().stride == sizes[factor] * strides[factor]) {
      outer_.back() = {outer_.back().size * sizes[factor], strides[factor]};
    } else {
      outer_.push_back({sizes[factor], strides[factor]});
    }
  }
  if (!outer_.empty()) {
    inner_ = outer_.back();
    outer_.pop_back();
  }
  for (const Dimension& dimension : outer_) rows_ *= dimension.size;
}

template <class Element>
void Rearrangement::copy(const Element* from, Element* to, int threads) const {
  // A whole copy is one row: it is cut inside.
  const int64_t grain = std::max<int64_t>(1, 4096 / std::max<int64_t>(1, inner_.size));
  if (rows_ == 1 && inner_.stride == 1) {
    parallel_for(threads, inner_.size, 4096,
                 [&](int64_t begin, int64_t end, int) { std::copy(from + begin, from + end, to + begin); });
    return;
  }
  parallel_for(threads, rows_, grain, [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row) {
      int64_t offset = 0, rest = row;
      for (size_t d = outer_.size(); d-- > 0;) {
        offset += rest % outer_[d].size * outer_[d].stride;
        rest /= outer_[d].size;
      }
      const Element* source = from + offset;
      Element* destination = to + row * inner_.size;
      if (inner_.stride == 1) {
        std::copy_n(source, inner_.size, destination);
      } else {
        for (int64_t i = 0; i < inner_.size; ++i) destination[i] = source[i * inner_.stride];
      }
    }
  });
}

void Rearrangement::run(const void* from, void* to, int threads) const {
  if (element_bytes_ == 2) {
    copy(static_cast<const uint16_t*>(from), static_cast<uint16_t*>(to), threads);
  } else {
    copy(static_cast<const uint32_t*>(from), static_cast<uint32_t*>(to), threads);
  }
}

}  // namespace shardscope
