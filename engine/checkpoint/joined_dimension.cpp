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

std::vector<CheckpointReader::Request> read_requests(const CheckpointState& held, const Shape& wanted, const Box& box,
                                                     std::span<std::byte> out) {
  const std::optional<size_t> at = joined_dimension(held.type.shape, wanted);
  if (!at) return {{&held, box, out}};
  // One for each place in the dimensions up to the first of the two.
  const Shape outer(box.size.begin(), box.size.begin() + static_cast<std::ptrdiff_t>(*at) + 1);
  const int64_t count = element_count(outer);
  const size_t bytes = out.size() / static_cast<size_t>(std::max<int64_t>(count, 1));
  std::vector<CheckpointReader::Request> requests;
  for (int64_t run = 0; run < count; ++run) {
    Box of_held{box.start, box.size};
    int64_t rest = run;
    for (size_t dim = *at + 1; dim-- > 0; rest /= outer[dim]) {
      of_held.start[dim] += rest % outer[dim];
      of_held.size[dim] = 1;
    }
    of_held.start[*at + 1] += of_held.start[*at] * wanted[*at + 1];
    of_held.start.erase(of_held.start.begin() + static_cast<std::ptrdiff_t>(*at));
    of_held.size.erase(of_held.size.begin() + static_cast<std::ptrdiff_t>(*at));
    requests.push_back({&held, of_held, out.subspan(static_cast<size_t>(run) * bytes, bytes)});
  }
  return requests;
}

}  // namespace shardscope
