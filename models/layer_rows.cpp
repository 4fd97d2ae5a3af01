#include "models/layer_rows.h"

namespace shardscope {

void require_rows(const Words& words, const ListedLayer& layer) {
  if (layer.before.kind == ListedValue::Kind::rows) return;
  fail_layer("'" + words[0] + "' is of rows that \"dispatch\" has sent to experts", dispatch_form);
}

ValueId as_sequence(const Module& module, ValueId x, const char* leaf) {
  if (module.graph().type(x).shape.size() == 3) return x;
  x = module.append("rearrange", {x}, EquationAttributes{"b(se)->bse", {{'s', 1}}}, leaf);
  module.graph().values[x].logical = {"batch", "", "features"};
  return x;
}

}  // namespace shardscope
