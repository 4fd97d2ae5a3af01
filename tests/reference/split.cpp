#include "engine/ops/split.h"

#include "tests/reference/named_reference.h"

namespace shardscope::reference {

namespace {

// Calls visit(index in the whole array, part, index in the part), for parts whose sizes behind the dimension agree with
// `shape`, that of any of the arrays.
template <class Visit>
void for_elements(const SplitAttributes& attributes, const Shape& shape, Visit visit) {
  const auto at = static_cast<size_t>(attributes.dimension);
  int64_t before = 1, behind = 1, all = 0;
  for (size_t d = 0; d < shape.size(); ++d) (d < at ? before : behind) *= d == at ? 1 : shape[d];
  for (int64_t size : attributes.sizes) all += size;
  for (int64_t i = 0; i < before; ++i) {
    int64_t start = 0;
    for (size_t part = 0; part < attributes.sizes.size(); ++part) {
      const int64_t size = attributes.sizes[part];
      for (int64_t j = 0; j < size * behind; ++j) {
        visit((i * all + start) * behind + j, part, i * size * behind + j);
      }
      start += size;
    }
  }
}

Results split(const Call& call) {
  const auto& attributes = call.attributes.as<SplitAttributes>();
  const Shape& shape = call.shape(0);
  Results parts;
  for (int64_t size : attributes.sizes) {
    parts.emplace_back(call.values(0).size() / shape[static_cast<size_t>(attributes.dimension)] * size);
  }
  for_elements(attributes, shape, [&](int64_t in_whole, size_t part, int64_t in_part) {
    parts[part][in_part] = call.values(0)[in_whole];
  });
  return parts;
}

Results concatenate(const Call& call) {
  const auto& attributes = call.attributes.as<SplitAttributes>();
  int64_t count = 0;
  for (const Array& operand : call.operands) count += operand.values.size();
  Values whole(count);
  for_elements(attributes, call.shape(0),
               [&](int64_t in_whole, size_t part, int64_t in_part) { whole[in_whole] = call.values(part)[in_part]; });
  return {whole};
}

}  // namespace

std::vector<NamedReference> split_references() { return {{"split", split}, {"concatenate", concatenate}}; }

}  // namespace shardscope::reference
