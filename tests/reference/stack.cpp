#include "engine/ops/stack.h"

#include "tests/reference/named_reference.h"

namespace shardscope::reference {

namespace {

// Where element `index` of part `part` is in the array of all parts.
int64_t in_whole(const StackAttributes& attributes, const Shape& one, int64_t part, int64_t index) {
  int64_t behind = 1;
  for (size_t d = static_cast<size_t>(attributes.dimension); d < one.size(); ++d) behind *= one[d];
  return (index / behind * attributes.count + part) * behind + index % behind;
}

Results stack(const Call& call) {
  const StackAttributes& attributes = call.attributes.as<StackAttributes>();
  Values whole(attributes.count * call.values(0).size());
  for (int64_t part = 0; part < attributes.count; ++part) {
    const Values& values = call.values(static_cast<size_t>(part));
    for (int64_t i = 0; i < values.size(); ++i) whole[in_whole(attributes, call.shape(0), part, i)] = values[i];
  }
  return {whole};
}

Results unstack(const Call& call) {
  const StackAttributes& attributes = call.attributes.as<StackAttributes>();
  Shape one = call.shape(0);
  one.erase(one.begin() + attributes.dimension);
  Results parts;
  for (int64_t part = 0; part < attributes.count; ++part) {
    Values values(call.values(0).size() / attributes.count);
    for (int64_t i = 0; i < values.size(); ++i) values[i] = call.values(0)[in_whole(attributes, one, part, i)];
    parts.push_back(values);
  }
  return parts;
}

}  // namespace

std::vector<NamedReference> stack_references() { return {{"stack", stack}, {"unstack", unstack}}; }

}  // namespace shardscope::reference
