#include "engine/checkpoint/joined_dimension.h"

#include <algorithm>

namespace shardscope {

std::optional<size_t> joined_dimension(const Shape& held, const Shape& wanted) {
  if (held.empty() || wanted.size() != held.size() + 1) return std::nullopt;
  const auto alike = static_cast<size_t>(std::ranges::mismatch(held, wanted).in1 - held.begin());
  const size_t at = std::min(alike, held.size() - 1);
  if (held[at] != wanted[at] * wanted[at + 1]) return std::nullopt;
  if (!std::equal(held.begin() + static_cast<std::ptrdiff_t>(at) + 1, held.end(),
                  wanted.begin() + static_cast<std::ptrdiff_t>(at) + 2))
    return std::nullopt;
  return at;
}

Shape with_joined(Shape shape, size_t at) {
  shape[at] *= shape[at + 1];
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  return shape;
}

bool has_same_elements(const Shape& held, const Shape& wanted) {
  return held == wanted || joined_dimension(held, wanted);
}

std::vector<Box> joined_boxes(const Shape& wanted, const Box& box, size_t at) {
  const bool is_one = box.size[at] == 1 || box.size[at + 1] == wanted[at + 1];
  // Else one for each place in the dimensions up to the first of the two.
  const Shape outer(box.size.begin(), box.size.begin() + (is_one ? 0 : static_cast<std::ptrdiff_t>(at) + 1));
  std::vector<Box> boxes;
  for (int64_t run = 0; run < element_count(outer); ++run) {
    Box& joined = boxes.emplace_back(box);
    int64_t rest = run;
    for (size_t dim = outer.size(); dim-- > 0; rest /= outer[dim]) {
      joined.start[dim] += rest % outer[dim];
      joined.size[dim] = 1;
    }
    joined.start[at + 1] += joined.start[at] * wanted[at + 1];
    joined.size[at + 1] *= joined.size[at];
    joined.start.erase(joined.start.begin() + static_cast<std::ptrdiff_t>(at));
    joined.size.erase(joined.size.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return boxes;
}

std::vector<Box> divided_boxes(const Shape& wanted, const Box& box, size_t at) {
  const int64_t inner = wanted[at + 1], first = box.start[at], end = first + box.size[at];
  const auto place = static_cast<std::ptrdiff_t>(at);
  std::vector<Box> boxes;
  const auto add = [&](Box divided, int64_t from, int64_t to) {
    const int64_t part = from / inner;
    divided.start[at] = part;
    divided.size[at] = (to - 1) / inner - part + 1;
    divided.start.insert(divided.start.begin() + place + 1, from - part * inner);
    divided.size.insert(divided.size.begin() + place + 1, std::min(to - from, inner));
    boxes.push_back(divided);
  };
  if (first % inner == 0 && end % inner == 0) {
    add(box, first, end);
    return boxes;
  }
  const Shape outer(box.size.begin(), box.size.begin() + place);
  for (int64_t run = 0; run < element_count(outer); ++run) {
    Box row = box;
    int64_t rest = run;
    for (size_t dim = at; dim-- > 0; rest /= outer[dim]) {
      row.start[dim] += rest % outer[dim];
      row.size[dim] = 1;
    }
    for (int64_t from = first; from < end;) {
      const int64_t to = std::min(end, (from / inner + 1) * inner);
      add(row, from, to);
      from = to;
    }
  }
  return boxes;
}

std::vector<CheckpointReader::Request> requests_of(const CheckpointState& held, const std::vector<Box>& boxes,
                                                   std::span<std::byte> out) {
  std::vector<CheckpointReader::Request> requests;
  for (const Box& box : boxes) {
    const auto bytes = static_cast<size_t>(TensorType{box.size, held.type.dtype}.bytes());
    requests.push_back({&held, box, out.first(bytes)});
    out = out.subspan(bytes);
  }
  return requests;
}

std::vector<CheckpointReader::Request> read_requests(const CheckpointState& held, const Shape& wanted, const Box& box,
                                                     std::span<std::byte> out) {
  const std::optional<size_t> at = joined_dimension(held.type.shape, wanted);
  if (!at) return {{&held, box, out}};
  return requests_of(held, joined_boxes(wanted, box, *at), out);
}

}  // namespace shardscope
