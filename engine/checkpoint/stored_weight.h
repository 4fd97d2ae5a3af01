#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/checkpoint/weights_folder.h"
#include "engine/mesh/sharding.h"

namespace shardscope {

// A weight of a model, in whatever form a folder has it. Forms, for a weight W of shape (e, r, c) or (r, c):
//   W, or W without its first part ("model.norm.weight", "norm.weight")
//   with ".block_sparse_moe." for ".mlp." (Mixtral)
//   W of F8_E4M3 with W_scale_inv, F32: one scale for each block of 128 x 128 (DeepSeek-V3)
//   W_blocks and W_scales, U8: MXFP4 (OCP Microscaling 1.0): for W (e, c, r) blocks (e, r, c / 32, 16), each byte two
//     elements, the low half first, and the exponent of their scale, biased by 127 (gpt-oss)
//   two dimensions joined: (e, p r, c) for W of shape (e, p, r, c), (r, p c) for (r, p, c)
//   one array for each expert: X.experts.gate_up_proj (e, 2 r, c) as X.experts.N.gate_proj.weight and up_proj.weight
//     (r, c), w1 and w3 in Mixtral; X.experts.down_proj as down_proj.weight, w2
// and combinations of these.
class StoredWeight {
 public:
  virtual ~StoredWeight() = default;
  const Shape& shape() const { return shape_; }
  // The arrays of the folder that it is made of.
  const std::vector<std::string>& arrays() const { return arrays_; }
  // The elements of a box, row-major, as f32. Reads no array of which it needs nothing.
  virtual void read(const Box& box, std::span<float> out) const = 0;

 protected:
  StoredWeight(Shape shape, std::vector<std::string> arrays) : shape_(shape), arrays_(std::move(arrays)) {}

 private:
  Shape shape_;
  std::vector<std::string> arrays_;
};

// How the folder, which outlives it, has the weight of this name and shape; nullptr where it has none. The shape that
// is found may be another one. Throws Failure (unreadable_file) where what belongs to it is missing or does not fit.
std::unique_ptr<StoredWeight> find_weight(const WeightsFolder& folder, const std::string& name, const Shape& shape);

}  // namespace shardscope
