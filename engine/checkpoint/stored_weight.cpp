#include "engine/checkpoint/stored_weight.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/base/error.h"
#include "engine/checkpoint/joined_dimension.h"

namespace shardscope {

namespace {

constexpr int64_t scaled_block = 128, microscaled_block = 32;

[[noreturn]] void fail(const WeightsFolder& folder, std::string what, std::string hint) {
  throw Failure(Error{"unreadable_file", std::move(what), in_file(folder.path()), std::move(hint)});
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  return at == std::string::npos ? std::string() : text.replace(at, from.size(), to);
}

class Plain : public StoredWeight {
 public:
  Plain(const WeightsFolder& folder, const std::string& name)
      : StoredWeight(*folder.find(name), {name}), folder_(folder) {}
  void read(const Box& box, std::span<float> out) const override { folder_.read(arrays()[0], box, out); }

 private:
  const WeightsFolder& folder_;
};

class Scaled : public StoredWeight {
 public:
  Scaled(const WeightsFolder& folder, const std::string& name, const std::string& scales)
      : StoredWeight(*folder.find(name), {name, scales}), folder_(folder) {
    Shape expected = shape();
    for (int64_t& size : expected) size = (size + scaled_block - 1) / scaled_block;
    if (expected.size() == 2 && *folder.find(scales) == expected) return;
    fail(folder, fmt::format("'{}' is of shape {}", scales, to_string(*folder.find(scales))),
         fmt::format("{}, a scale for each block of 128 x 128 of '{}'", to_string(expected), name));
  }

  void read(const Box& box, std::span<float> out) const override {
    folder_.read(arrays()[0], box, out);
    Box blocks = box;
    for (size_t d = 0; d < 2; ++d) {
      const int64_t end = box.start[d] + box.size[d];
      blocks.start[d] = box.start[d] / scaled_block;
      blocks.size[d] = (end + scaled_block - 1) / scaled_block - blocks.start[d];
    }
    std::vector<float> scales(static_cast<size_t>(element_count(blocks.size)));
    folder_.read(arrays()[1], blocks, scales);
    for (int64_t r = 0; r < box.size[0]; ++r) {
      const int64_t row = (box.start[0] + r) / scaled_block - blocks.start[0];
      for (int64_t c = 0; c < box.size[1]; ++c) {
        const int64_t column = (box.start[1] + c) / scaled_block - blocks.start[1];
        out[static_cast<size_t>(r * box.size[1] + c)] *= scales[static_cast<size_t>(row * blocks.size[1] + column)];
      }
    }
  }

 private:
  const WeightsFolder& folder_;
};

// Elements of 4 bits: 1 of sign, 2 of exponent, 1 of fraction.
float of_four_bits(unsigned bits) {
  static constexpr std::array<float, 8> sizes = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  return (bits & 8) != 0 ? -sizes[bits & 7] : sizes[bits & 7];
}

class Microscaled : public StoredWeight {
 public:
  Microscaled(const WeightsFolder& folder, const std::string& blocks, const std::string& scales)
      : StoredWeight(shape_of(folder, blocks, scales), {blocks, scales}), folder_(folder) {}

  void read(const Box& box, std::span<float> out) const override {
    const int64_t columns = box.size[1], rows = box.size[2];
    const int64_t first = box.start[1] / microscaled_block;
    const int64_t count = (box.start[1] + columns + microscaled_block - 1) / microscaled_block - first;
    std::vector<float> bytes(static_cast<size_t>(rows * count * 16)), scales(static_cast<size_t>(rows * count));
    for (int64_t e = 0; e < box.size[0]; ++e) {
      folder_.read(arrays()[0], {{box.start[0] + e, box.start[2], first, 0}, {1, rows, count, 16}}, bytes);
      folder_.read(arrays()[1], {{box.start[0] + e, box.start[2], first}, {1, rows, count}}, scales);
      for (int64_t c = 0; c < columns; ++c) {
        const int64_t at = box.start[1] + c - first * microscaled_block, block = at / microscaled_block;
        const int64_t byte = at % microscaled_block / 2;
        for (int64_t r = 0; r < rows; ++r) {
          const auto place = static_cast<size_t>(r * count + block);
          const auto both = static_cast<unsigned>(bytes[place * 16 + static_cast<size_t>(byte)]);
          out[static_cast<size_t>((e * columns + c) * rows + r)] =
              std::ldexp(of_four_bits(at % 2 == 0 ? both & 15 : both >> 4), static_cast<int>(scales[place]) - 127);
        }
      }
    }
  }

 private:
  static Shape shape_of(const WeightsFolder& folder, const std::string& blocks, const std::string& scales) {
    const Shape b = *folder.find(blocks);
    const Shape* s = folder.find(scales);
    const bool fit = b.size() == 4 && b[3] == 16 && s && *s == Shape{b[0], b[1], b[2]};
    if (!fit) {
      fail(folder, fmt::format("'{}' of shape {} has no scales that fit", blocks, to_string(b)),
           fmt::format("blocks (experts, rows, columns / 32, 16), and '{}' of the first three", scales));
    }
    return {b[0], b[2] * microscaled_block, b[1]};
  }

  const WeightsFolder& folder_;
};

// An array for each expert, or two, whose rows follow each other.
class OfExperts : public StoredWeight {
 public:
  using Parts = std::vector<std::unique_ptr<StoredWeight>>;  // of expert 0, of expert 1, ...
  OfExperts(Shape shape, Parts parts, int64_t each)
      : StoredWeight(shape, arrays_of(parts)), parts_(std::move(parts)), each_(each) {}

  void read(const Box& box, std::span<float> out) const override {
    const int64_t rows = shape()[1] / each_, columns = box.size[2];
    for (int64_t e = 0; e < box.size[0]; ++e) {
      for (int64_t i = 0; i < each_; ++i) {
        const int64_t from = std::max(box.start[1], i * rows);
        const int64_t to = std::min(box.start[1] + box.size[1], (i + 1) * rows);
        if (from >= to) continue;
        const int64_t at = (e * box.size[1] + from - box.start[1]) * columns;
        parts_[static_cast<size_t>((box.start[0] + e) * each_ + i)]->read(
            {{from - i * rows, box.start[2]}, {to - from, columns}},
            out.subspan(static_cast<size_t>(at), static_cast<size_t>((to - from) * columns)));
      }
    }
  }

 private:
  static std::vector<std::string> arrays_of(const Parts& parts) {
    std::vector<std::string> names;
    for (const auto& part : parts) names.insert(names.end(), part->arrays().begin(), part->arrays().end());
    return names;
  }

  Parts parts_;
  int64_t each_;
};

// Stored with dimensions `at` and `at` + 1 joined.
class Joined : public StoredWeight {
 public:
  Joined(Shape shape, std::unique_ptr<StoredWeight> stored, size_t at)
      : StoredWeight(shape, stored->arrays()), stored_(std::move(stored)), at_(at) {}

  void read(const Box& box, std::span<float> out) const override {
    for (const Box& part : joined_boxes(shape(), box, at_)) {
      const auto count = static_cast<size_t>(element_count(part.size));
      stored_->read(part, out.first(count));
      out = out.subspan(count);
    }
  }

 private:
  std::unique_ptr<StoredWeight> stored_;
  size_t at_;
};

// X.experts.gate_up_proj: X.experts. and the names of an expert's arrays, by either convention.
struct ExpertNames {
  std::string before;
  std::vector<std::vector<std::string>> choices;
};

std::optional<ExpertNames> expert_names(const std::string& name) {
  for (const auto& [end, choices] : {std::pair<std::string, std::vector<std::vector<std::string>>>{
                                         "gate_up_proj", {{"gate_proj", "up_proj"}, {"w1", "w3"}}},
                                     {"down_proj", {{"down_proj"}, {"w2"}}}}) {
    if (name.ends_with(".experts." + end)) return ExpertNames{name.substr(0, name.size() - end.size()), choices};
  }
  return std::nullopt;
}

std::unique_ptr<StoredWeight> find_experts(const WeightsFolder& folder, const std::string& name, const Shape& shape) {
  const std::optional<ExpertNames> names = expert_names(name);
  if (!names || shape.size() != 3) return nullptr;
  for (const std::vector<std::string>& choice : names->choices) {
    const auto each = static_cast<int64_t>(choice.size());
    if (!find_weight(folder, fmt::format("{}0.{}.weight", names->before, choice[0]), {})) continue;
    const Shape expected{shape[1] / each, shape[2]};
    OfExperts::Parts parts;
    for (int64_t e = 0; e < shape[0]; ++e) {
      for (const std::string& leaf : choice) {
        const std::string wanted = fmt::format("{}{}.{}.weight", names->before, e, leaf);
        std::unique_ptr<StoredWeight> part = find_weight(folder, wanted, expected);
        if (!part || part->shape() != expected) {
          fail(folder,
               part ? fmt::format("'{}' is of shape {}", part->arrays()[0], to_string(part->shape()))
                    : fmt::format("there is no '{}'", wanted),
               fmt::format("{} of each of {} experts", to_string(expected), shape[0]));
        }
        parts.push_back(std::move(part));
      }
    }
    return std::make_unique<OfExperts>(shape, std::move(parts), each);
  }
  return nullptr;
}

std::unique_ptr<StoredWeight> find_stored(const WeightsFolder& folder, const std::string& name, const Shape& shape) {
  for (const std::string& held : {name, name.substr(name.find('.') + 1)}) {
    if (!folder.find(held)) continue;
    const std::string scales = held + "_scale_inv";
    if (folder.find(scales)) return std::make_unique<Scaled>(folder, held, scales);
    if (const std::string& type = folder.stored_type(held); type.starts_with("F8") || type == "U8") {
      fail(folder, fmt::format("'{}' is of {}, and there is no '{}'", held, type, scales),
           "F8_E4M3 with scales of blocks of 128 x 128, MXFP4 as gpt-oss has it, or a wider type");
    }
    return std::make_unique<Plain>(folder, held);
  }
  if (folder.find(name + "_blocks")) return std::make_unique<Microscaled>(folder, name + "_blocks", name + "_scales");
  if (std::unique_ptr<StoredWeight> experts = find_experts(folder, name, shape)) return experts;
  const std::string mixtral = replaced(name, ".mlp.", ".block_sparse_moe.");
  return mixtral.empty() ? nullptr : find_stored(folder, mixtral, shape);
}

}  // namespace

std::unique_ptr<StoredWeight> find_weight(const WeightsFolder& folder, const std::string& name, const Shape& shape) {
  const bool of_experts = shape.size() == 4;
  std::unique_ptr<StoredWeight> found = find_stored(folder, name, of_experts ? with_joined(shape, 1) : shape);
  if (!found) return found;
  const std::optional<size_t> at = joined_dimension(found->shape(), shape);
  return at ? std::make_unique<Joined>(shape, std::move(found), *at) : std::move(found);
}

}  // namespace shardscope
