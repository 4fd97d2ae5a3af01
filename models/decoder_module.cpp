#include "models/decoder_module.h"

#include <algorithm>
#include <cmath>

#include "engine/base/hash.h"
#include "engine/base/path.h"
#include "engine/base/random.h"
#include "engine/ops/constant.h"
#include "engine/ops/registry.h"
#include "engine/ops/scale.h"
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

ValueId DecoderModule::linear_weight(int64_t in, const std::string& in_name, int64_t out,
                                     const std::string& out_name) const {
  return options_->in_out ? weight({in, out}, {in_name, out_name}) : weight({out, in}, {out_name, in_name});
}

ValueId DecoderModule::linear(ValueId x, ValueId weight, ValueId bias) const {
  const ValueId y = multiply(x, weight, {"bsi", "i", "o", "bso"});
  return bias == no_id ? y : module_.add(y, bias);
}

ValueId DecoderModule::multiply(ValueId x, ValueId weight, const LinearLabels& labels,
                                const std::vector<std::pair<char, int64_t>>& sizes,
                                const std::vector<std::string>& logical) const {
  const std::string stored = options_->in_out ? labels.in + labels.out : labels.out + labels.in;
  const ValueId y = module_.product(x, weight, labels.x + "," + stored + "->" + labels.result, "einsum", sizes);
  if (!logical.empty()) graph().values[y].logical = logical;
  return adapted(module_.cast(y, DType::f32), x, weight, labels, sizes);
}

ValueId DecoderModule::adapted(ValueId y, ValueId x, ValueId weight, const LinearLabels& labels,
                               const std::vector<std::pair<char, int64_t>>& sizes) const {
  const DecoderAdapters& adapters = options_->adapters;
  if (adapters.rank == 0 || std::ranges::find(adapters.targets, module_.path().back()) == adapters.targets.end())
    return y;
  const Shape shape = graph().type(weight).shape;
  const std::vector<std::string> logical = graph().values[weight].logical;
  const DecoderModule down = child("lora_A"), up = child("lora_B");
  InitialiseAttributes initialiser;  // torch.nn.init.kaiming_uniform_ with a = sqrt(5)
  initialiser.kind = InitialiseAttributes::Kind::uniform;
  initialiser.scale = 1 / std::sqrt(static_cast<double>(shape[1]));
  initialiser.key = down.key_of("weight");
  initialiser.type.shape = {adapters.rank, shape[1]};
  const ValueId a = down.module_.parameter("weight", initialiser, {"", logical[1]});
  const ValueId b = up.constant("weight", 0, {shape[0], adapters.rank}, {logical[0], ""});
  const auto sizes_in = [&](const std::string& text) {
    std::vector<std::pair<char, int64_t>> list = sizes;
    std::erase_if(list, [&](const auto& size) { return text.find(size.first) == std::string::npos; });
    return list;
  };
  ValueId z = down.module_.product(x, a, labels.x + ",r" + labels.in + "->bsr", "einsum", sizes_in(labels.in));
  z = up.module_.product(z, b, "bsr," + labels.out + "r->" + labels.result, "einsum", sizes_in(labels.out));
  z = up.module_.append("scale", {up.module_.cast(z, DType::f32)}, ScaleAttributes{adapters.scale});
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
