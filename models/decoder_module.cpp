#include "models/decoder_module.h"

#include <algorithm>
#include <cmath>

#include "engine/base/hash.h"
#include "engine/base/path.h"
#include "engine/base/random.h"
#include "engine/ops/constant.h"
#include "engine/ops/registry.h"
#include "engine/ops/scale.h"
#include "engine/ops/split.h"
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
  LinearWeight result;
  result.weight = options_->in_out ? weight({in, out}, {in_name, out_name}) : weight({out, in}, {out_name, in_name});
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
  result.up = up.constant("weight", 0, {out, adapters.rank}, {out_name, ""});
  return result;
}

std::vector<LinearWeight> DecoderModule::split(const LinearWeight& joined, const std::vector<int64_t>& sizes,
                                               const std::vector<std::string>& names) const {
  std::vector<LinearWeight> parts(sizes.size(), {no_id, joined.down, no_id});
  const auto cut = [&](const Module& module, ValueId whole, size_t dimension, ValueId LinearWeight::*member) {
    const std::vector<ValueId> values =
        module.append_all("split", {whole}, SplitAttributes{static_cast<int>(dimension), sizes});
    for (size_t i = 0; i < values.size(); ++i) {
      std::vector<std::string> logical = graph().values[whole].logical;
      logical[dimension] = names[i];
      graph().values[values[i]].logical = std::move(logical);
      parts[i].*member = values[i];
    }
  };
  cut(module_, joined.weight, options_->in_out ? 1 : 0, &LinearWeight::weight);
  if (joined.up != no_id) cut(module_.child("lora_B"), joined.up, 0, &LinearWeight::up);
  return parts;
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
