#include "engine/checkpoint/joined_dimension.h"

#include <algorithm>

namespace shardscope {

std::optional<size_t> joined_dimension(const Shape& held, const Shape& wanted) {
  if (wanted.size() != held.size() + 1) return std::nullopt;
  const auto at = static_cast<size_t>(std::ranges::mismatch(held, wanted).in1 - held.begin());
  if (at == held.size() || held[at] != wanted[at] * wanted[at + 1]) return std::nullopt;
  if (!std::equal(held.begin() + static_cast<std::ptrdiff_t>(at) + 1, held.end(),
                  wanted.begin() + static_cast<std::ptrdiff_t>(at) + 2))
    return std::nullopt;
  return at;
}

std::vector<Box> joined_boxes(const Shape& wanted, const Box& box, size_t at) {
  // One for each place in the dimensions up to the first of the two.
  const Shape outer(box.size.begin(), box.size.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  std::vector<Box> boxes;
  for (int64_t run = 0; run < element_count(outer); ++run) {
    Box& joined = boxes.emplace_back(box);
    int64_t rest = run;
    for (size_t dim = at + 1; dim-- > 0; rest /= outer[dim]) {
      joined.start[dim] += rest % outer[dim];
      joined.size[dim] = 1;
    }
    joined.start[at + 1] += joined.start[at] * wanted[at + 1];
    joined.start.erase(joined.start.begin() + static_cast<std::ptrdiff_t>(at));
    joined.size.erase(joined.size.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return boxes;
}

std::vector<CheckpointReader::Request> read_requests(const CheckpointState& held, const Shape& wanted, const Box& box,
                                                     std::span<std::byte> out) {
  const std::optional<size_t> at = joined_dimension(held.type.shape, wanted);
  if (!at) return {{&held, box, out}};
  std::vector<CheckpointReader::Request> requests;
  const std::vector<Box> boxes = joined_boxes(wanted, box, *at);
  for (size_t i = 0; i < boxes.size(); ++i) {
    const size_t bytes = out.size() / boxes.size();
    requests.push_back({&held, boxes[i], out.subspan(i * bytes, bytes)});
  }
  return requests;
}

}  // namespace shardscope
