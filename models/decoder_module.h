#pragma once

#include <string>
#include <vector>

#include "models/decoder_options.h"
#include "models/module.h"

namespace shardscope {

// The weight of a linear layer, and its adapter where it has one: down (rank, in), up (out, rank), else no_id.
struct LinearWeight {
  ValueId weight = no_id, down = no_id, up = no_id;
};

struct LinearLayer {
  LinearWeight weight;
  ValueId bias = no_id;  // no_id: none
};

// What linear layers give: so many elements each, by these logical names.
struct LinearOutputs {
  std::vector<int64_t> sizes;
  std::vector<std::string> names;
};

// A module of a decoder, whose parameters have names and shapes as on disk. First values that no file gives are
// random: of each parameter by the run's seed and its name, whatever other parameters there are.
class DecoderModule {
 public:
  DecoderModule(Graph& graph, const DecoderOptions& options, int64_t seed, DType compute)
      : module_(graph, compute), options_(&options), seed_(seed) {}

  // A module below this one: "self_attn/q_proj" is two steps.
  DecoderModule child(const std::string& path) const;
  const Module& module() const { return module_; }
  Graph& graph() const { return module_.graph(); }
  const DecoderOptions& options() const { return *options_; }

  // Normal with the options' deviation.
  ValueId weight(Shape shape, std::vector<std::string> logical, const std::string& name = "weight") const;
  ValueId constant(const std::string& name, double value, Shape shape, std::vector<std::string> logical) const;
  // Of a linear layer from `in` to `out`: "weight" as the options store it, its dimensions called so. Its adapter,
  // where the options say that it has one: parameters lora_A/weight and lora_B/weight.
  LinearWeight linear_weight(int64_t in, const std::string& in_name, int64_t out, const std::string& out_name) const;
  // Linear layers that are one on disk. Where they give equally many elements, its weight, bias and adapter have a
  // dimension of these layers, called "", so that a device may have the same part of each: weight (in, layers, out) or
  // (layers, out, in). Else the layers follow each other in one dimension, called "".
  std::vector<LinearLayer> joined_layers(int64_t in, const std::string& in_name, const LinearOutputs& outputs,
                                         bool has_bias) const;

  // x (b, s, in) -> (b, s, out), with a bias where `bias` is a value.
  ValueId linear(ValueId x, const LinearWeight& weight, ValueId bias) const;
  // The product of x with a weight and its adapter, in f32.
  // Labels of x, of the rows that the weight takes, of those it gives, and of the result: "bse", "e", "(hd)", "bshd".
  // `logical`: names of the result's dimensions, where they are not those of x and the weight.
  struct LinearLabels {
    std::string x, in, out, result;
  };
  ValueId multiply(ValueId x, const LinearWeight& weight, const LinearLabels& labels,
                   const std::vector<std::pair<char, int64_t>>& sizes = {},
                   const std::vector<std::string>& logical = {}) const;
  // An array of one number.
  ValueId filled(double value, const TensorType& type, const std::string& leaf) const;

 private:
  Key key_of(const std::string& name) const;
  LinearWeight linear_weight(int64_t in, const std::string& in_name, const Shape& out,
                             const std::vector<std::string>& out_names) const;
  // y plus what the weight's adapter makes of x.
  ValueId adapted(ValueId y, ValueId x, const LinearWeight& weight, const LinearLabels& labels,
                  const std::vector<std::pair<char, int64_t>>& sizes) const;

  Module module_;
  const DecoderOptions* options_;
  int64_t seed_;
};

}  // namespace shardscope
