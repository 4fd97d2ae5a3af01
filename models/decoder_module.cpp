#include "models/decoder_module.h"

#include "engine/base/hash.h"
#include "engine/base/path.h"
#include "engine/base/random.h"
#include "engine/ops/constant.h"
#include "engine/ops/registry.h"
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
  initialiser.key =
      fold_in(key_from_seed(seed_), static_cast<uint32_t>(hash_bytes(join_path(module_.path()) + "/" + name)));
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
  ValueId y = module_.product(x, weight, options_->in_out ? "bsi,io->bso" : "bsi,oi->bso");
  y = module_.cast(y, DType::f32);
  return bias == no_id ? y : module_.add(y, bias);
}

ValueId DecoderModule::filled(double value, const TensorType& type, const std::string& leaf) const {
  const OpId op = graph().add_op(op_definition("constant"), join_path(module_.path()) + "/" + leaf, Phase::forward, {},
                                 ConstantAttributes{value, type});
  return graph().ops[op].outputs[0];
}

}  // namespace shardscope
