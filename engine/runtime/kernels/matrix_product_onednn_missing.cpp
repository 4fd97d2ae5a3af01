#include "engine/base/error.h"
#include "engine/runtime/kernels/matrix_product.h"
#include "engine/runtime/kernels/serial_product.h"

namespace shardscope {

bool has_onednn() { return false; }
bool has_onednn_bf16() { return false; }
std::string onednn_version() { return ""; }
void limit_onednn(InstructionSet) {}

std::unique_ptr<SerialProduct> make_onednn_product(const MatrixProductShape&, bool, int64_t) {
  throw Failure(Error{"matrix_product", "this build has no oneDNN", "", "build with -DSHARDSCOPE_ONEDNN=ON"});
}

}  // namespace shardscope
