#include "models/decoder_module.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/base/hash.h"
#include "engine/base/path.h"
#include "engine/base/random.h"
#include "engine/ops/constant.h"
#include "engine/ops/registry.h"
#include "engine/ops/scale.h"
#include "engine/ops/split.h"
#include "engine/ops/stack.h"
#include "models/initialisers.h"

namespace shardscope {

DecoderModule DecoderModule::child(const std::string& path) const {
  DecoderModule result = *this;
  for (size_t begin = 0; begin < path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    result.module_ = result.module_.child(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return result;
}

ValueId DecoderModule::weight(Shape shape, std::vector<std::string> logical, const std::string& name) const {
  InitialiseAttributes initialiser = normal_initialiser(options_->deviation, std::move(shape));
  initialiser.key = key_of(name);
  return module_.parameter(name, std::move(initialiser), std::move(logical));
}

ValueId DecoderModule::constant(const std::string& name, double value, Shape shape,
                                std::vector<std::string> logical) const {
  return module_.parameter(name, constant_initialiser(value, std::move(shape)), std::move(logical));
}

LinearWeight DecoderModule::linear_weight(int64_t in, const std::string& in_name, int64_t out,
                                          const std::string& out_name) const {
  return linear_weight(in, in_name, Shape{out}, {out_name});
}

LinearWeight DecoderModule::linear_weight(int64_t in, const std::string& in_name, const Shape& out,
                                          const std::vector<std::string>& out_names) const {
  const auto stored = [&](auto dimensions, const auto& of_in) {
    dimensions.insert(options_->in_out ? dimensions.begin() : dimensions.end(), of_in);
    return dimensions;
  };
  LinearWeight result;
  result.weight = weight(stored(out, in), stored(out_names, in_name));
  const DecoderAdapters& adapters = options_->adapters;
  if (adapters.rank == 0 || std::ranges::find(adapters.targets, module_.path().back()) == adapters.targets.end())
    return result;
  const DecoderModule down = child("lora_A"), up = child("lora_B");
  InitialiseAttributes initialiser;  // torch.nn.init.kaiming_uniform_ with a = sqrt(5)
  initialiser.kind = InitialiseAttributes::Kind::uniform;
  initialiser.scale = 1 / std::sqrt(static_cast<double>(in));
  initialiser.key = down.key_of("weight");
  initialiser.type.shape = {adapters.rank, in};
  result.down = down.module_.parameter("weight", initialiser, {"", in_name});
  Shape up_shape = out;
  std::vector<std::string> up_names = out_names;
  up_shape.push_back(adapters.rank);
  up_names.emplace_back();
  result.up = up.constant("weight", 0, up_shape, up_names);
  return result;
}

std::vector<LinearLayer> DecoderModule::joined_layers(int64_t in, const std::string& in_name,
                                                      const LinearOutputs& outputs, bool has_bias) const {
  const auto& [sizes, names] = outputs;
  const int64_t count = std::ssize(sizes);
  const bool alike = std::ranges::count(sizes, sizes[0]) == count;
  const Shape out = alike ? Shape{count, sizes[0]} : Shape{std::accumulate(sizes.begin(), sizes.end(), int64_t{0})};
  const std::vector<std::string> out_names =
      alike ? std::vector<std::string>{"", names[0]} : std::vector<std::string>{""};
  const auto parts = [&](const Module& module, ValueId joined, int at, const std::string& leaf) {
    const std::vector<ValueId> values =
        alike ? module.append_all("unstack", {joined}, StackAttributes{at, static_cast<int>(count)}, leaf)
              : module.append_all("split", {joined}, SplitAttributes{at, sizes}, leaf);
    std::vector<std::string> logical = graph().values[joined].logical;
    if (alike) logical.erase(logical.begin() + at);
    for (size_t i = 0; i < values.size(); ++i) {
      logical[static_cast<size_t>(at)] = names[i];
      graph().values[values[i]].logical = logical;
    }
    return values;
  };
  const LinearWeight joined = linear_weight(in, in_name, out, out_names);
  const std::vector<ValueId> none(sizes.size(), no_id),
      weights = parts(module_, joined.weight, options_->in_out ? 1 : 0, "split"),
      ups = joined.up == no_id ? none : parts(module_.child("lora_B"), joined.up, 0, "split"),
      biases = has_bias ? parts(module_, constant("bias", 0, out, out_names), 0, "split_bias") : none;
  std::vector<LinearLayer> layers;
  for (size_t i = 0; i < sizes.size(); ++i) layers.push_back({{weights[i], joined.down, ups[i]}, biases[i]});
  return layers;
}

ValueId DecoderModule::linear(ValueId x, const LinearWeight& weight, ValueId bias) const {
  const ValueId y = multiply(x, weight, {"bsi", "i", "o", "bso"});
  return bias == no_id ? y : module_.add(y, bias);
}

ValueId DecoderModule::multiply(ValueId x, const LinearWeight& weight, const LinearLabels& labels,
                                const std::vector<std::pair<char, int64_t>>& sizes,
                                const std::vector<std::string>& logical) const {
  const std::string stored = options_->in_out ? labels.in + labels.out : labels.out + labels.in;
  const ValueId y = module_.product(x, weight.weight, labels.x + "," + stored + "->" + labels.result, "einsum", sizes);
  if (!logical.empty()) graph().values[y].logical = logical;
  return adapted(module_.cast(y, DType::f32), x, weight, labels, sizes);
}

ValueId DecoderModule::adapted(ValueId y, ValueId x, const LinearWeight& weight, const LinearLabels& labels,
                               const std::vector<std::pair<char, int64_t>>& sizes) const {
  if (weight.down == no_id) return y;
  const Module down = module_.child("lora_A"), up = module_.child("lora_B");
  const auto sizes_in = [&](const std::string& text) {
    std::vector<std::pair<char, int64_t>> list = sizes;
    std::erase_if(list, [&](const auto& size) { return text.find(size.first) == std::string::npos; });
    return list;
  };
  ValueId z = down.product(x, weight.down, labels.x + ",r" + labels.in + "->bsr", "einsum", sizes_in(labels.in));
  z = up.product(z, weight.up, "bsr," + labels.out + "r->" + labels.result, "einsum", sizes_in(labels.out));
  z = up.append("scale", {up.cast(z, DType::f32)}, ScaleAttributes{options_->adapters.scale});
  graph().values[z].logical = graph().values[y].logical;
  return module_.add(y, z, "add_adapter");
}

Key DecoderModule::key_of(const std::string& name) const {
  return fold_in(key_from_seed(seed_), static_cast<uint32_t>(hash_bytes(join_path(module_.path()) + "/" + name)));
}

ValueId DecoderModule::filled(double value, const TensorType& type, const std::string& leaf) const {
  const OpId op = graph().add_op(op_definition("constant"), join_path(module_.path()) + "/" + leaf, Phase::forward, {},
                                 ConstantAttributes{value, type});
  return graph().ops[op].outputs[0];
}

}  // namespace shardscope
