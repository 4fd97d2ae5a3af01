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
  // The weights of layers that are stored as one, which give so many elements each, called so.
  std::vector<LinearWeight> split(const LinearWeight& joined, const std::vector<int64_t>& sizes,
                                  const std::vector<std::string>& names) const;

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
  // y plus what the weight's adapter makes of x.
  ValueId adapted(ValueId y, ValueId x, const LinearWeight& weight, const LinearLabels& labels,
                  const std::vector<std::pair<char, int64_t>>& sizes) const;

  Module module_;
  const DecoderOptions* options_;
  int64_t seed_;
};

}  // namespace shardscope
