#include <fmt/format.h>

#include <algorithm>

#include "models/layer_kind.h"
#include "models/layer_parts.h"

namespace shardscope {

namespace {

void read_slice(const Words& words, const LayersBefore&, ListedLayer& layer) {
  const int64_t size = layer.before.shape.back();
  const std::optional<IndexRange> range = words.size() == 2 ? range_of(words[1], size) : std::nullopt;
  if (!range) {
    fail_layer(fmt::format("'slice' takes a range of the last dimension, which is {}", size),
               fmt::format("such as \"slice 0:{}\"", std::max<int64_t>(1, size / 2)));
  }
  std::vector<int64_t> sizes{range->first, range->end - range->first, size - range->end};
  std::erase(sizes, 0);
  layer.after.shape.back() = range->end - range->first;
  layer.build = [sizes, kept = size_t{range->first > 0}](LayerBuilder& builder) {
    return builder.module.append_all("split", {builder.inputs[0]}, parts_of_last(builder, sizes))[kept];
  };
}

}  // namespace

// Elements of the last dimension, as Python counts them.
LayerKind slice_layer() { return {"slice", "\"slice 0:64\"", read_slice, false, true}; }

}  // namespace shardscope
