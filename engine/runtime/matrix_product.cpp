#include "engine/runtime/matrix_product.h"

#include <dnnl.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/runtime/parallel.h"

namespace shardscope {

namespace {

using dnnl::memory;
using Description = dnnl::matmul::primitive_desc;

constexpr int64_t smallest_packed_rows = 256;
constexpr int64_t transposed_slice = 512;  // of k, where A is transposed too: oneDNN copies both then, best from cache

const dnnl::engine& cpu() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

memory::desc matrix(int64_t rows, int64_t columns, int64_t leading, bool transposed) {
  return {{rows, columns}, memory::data_type::f32, transposed ? memory::dims{1, leading} : memory::dims{leading, 1}};
}

dnnl::primitive_attr attributes(bool accumulate) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (accumulate) {
    dnnl::post_ops post;
    post.append_sum(1.0f);
    attributes.set_post_ops(post);
  }
  return attributes;
}

// oneDNN 2 describes an operation first, oneDNN 3 does not.
template <class Matmul>
typename Matmul::primitive_desc describe(const memory::desc& a, const memory::desc& b, const memory::desc& c,
                                         bool accumulate) {
  if constexpr (requires { typename Matmul::desc; }) {
    return typename Matmul::primitive_desc(typename Matmul::desc(a, b, c), attributes(accumulate), cpu());
  } else {
    return typename Matmul::primitive_desc(cpu(), a, b, c, attributes(accumulate));
  }
}

int64_t size_of(const memory::desc& description) { return static_cast<int64_t>(description.get_size()); }

// One call of oneDNN, with its arguments laid out beforehand.
class Call {
 public:
  Call(dnnl::primitive primitive, std::vector<std::pair<int, memory::desc>> arguments)
      : primitive_(std::move(primitive)) {
    for (auto& [index, description] : arguments) memories_.emplace_back(description, cpu(), nullptr);
    for (size_t i = 0; i < arguments.size(); ++i) arguments_.push_back({arguments[i].first, memories_[i].get()});
  }

  void run(std::initializer_list<void*> data) {
    size_t i = 0;
    for (void* address : data) memories_[i++].set_data_handle(address);
    dnnl::error::wrap_c_api(dnnl_primitive_execute(primitive_.get(), stream_.get(), static_cast<int>(arguments_.size()),
                                                   arguments_.data()),
                            "matrix product");
  }

 private:
  dnnl::primitive primitive_;
  dnnl::stream stream_{cpu()};
  std::vector<memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

// The product of one slice of k.
struct Slice {
  std::optional<Call> pack;
  Call product;
  int64_t k;
  int64_t packed_bytes;
  int64_t scratch_bytes;
};

std::optional<Slice> make_slice(const MatrixProductShape& shape, int64_t k, bool accumulate, bool packed,
                                int64_t workspace_bytes) {
  const memory::desc a = matrix(shape.m, k, shape.lda, shape.transpose_a);
  const memory::desc b = matrix(k, shape.n, shape.ldb, shape.transpose_b);
  const memory::desc c = matrix(shape.m, shape.n, shape.ldc, false);
  const memory::desc any({k, shape.n}, memory::data_type::f32, memory::format_tag::any);
  Description description = describe<dnnl::matmul>(a, packed ? any : b, c, accumulate);
  do {
    const memory::desc chosen = description.weights_desc();
    const bool packs = packed && chosen != b;
    const int64_t packed_bytes = packs ? aligned(size_of(chosen)) : 0;
    int64_t scratch_bytes = size_of(description.scratchpad_desc());
    std::optional<dnnl::reorder::primitive_desc> reorder;
    if (packs) {
      reorder.emplace(cpu(), b, cpu(), chosen, attributes(false));
      scratch_bytes = std::max(scratch_bytes, size_of(reorder->scratchpad_desc()));
    }
    if (packed_bytes + scratch_bytes > workspace_bytes) continue;
    Slice slice{std::nullopt,
                Call(dnnl::matmul(description), {{DNNL_ARG_SRC, a},
                                                 {DNNL_ARG_WEIGHTS, chosen},
                                                 {DNNL_ARG_DST, c},
                                                 {DNNL_ARG_SCRATCHPAD, description.scratchpad_desc()}}),
                k, packed_bytes, scratch_bytes};
    if (packs) {
      slice.pack.emplace(dnnl::reorder(*reorder), std::vector<std::pair<int, memory::desc>>{
                                                      {DNNL_ARG_FROM, b},
                                                      {DNNL_ARG_TO, chosen},
                                                      {DNNL_ARG_SCRATCHPAD, reorder->scratchpad_desc()}});
    }
    return slice;
  } while (description.next_impl());
  return std::nullopt;
}

}  // namespace

struct MatrixProduct::Implementation {
  MatrixProductShape shape;
  int threads;
  std::vector<Slice> kinds;  // first, middle and last slice
  std::vector<int> order;    // of kinds

  // Slices of `size` of k; false where a kind of slice does not fit the workspace.
  bool cut(int64_t size, bool packed, int64_t workspace_bytes) {
    kinds.clear();
    order.clear();
    for (int64_t done = 0; done < shape.k; done += size) {
      const int64_t k = std::min(size, shape.k - done);
      if (done < 2 * size || k != size) {
        auto slice = make_slice(shape, k, shape.accumulate || done > 0, packed, workspace_bytes);
        if (!slice) return false;
        kinds.push_back(std::move(*slice));
      }
      order.push_back(static_cast<int>(kinds.size()) - 1);
    }
    return true;
  }
};

MatrixProduct::MatrixProduct(const MatrixProductShape& shape, int threads, int64_t workspace_bytes)
    : implementation_(std::make_unique<Implementation>()) {
  ThreadLimit limit(threads);
  implementation_->shape = shape;
  implementation_->threads = threads;
  try {
    if (shape.m >= smallest_packed_rows) {
      int64_t size = shape.transpose_a ? std::min(shape.k, transposed_slice) : shape.k;
      bool fits = implementation_->cut(size, true, workspace_bytes);
      while (!fits && size > 64) {
        size = (size / 2 + 63) / 64 * 64;
        fits = implementation_->cut(size, true, workspace_bytes);
      }
      if (fits) return;
    }
    if (implementation_->cut(shape.k, false, workspace_bytes)) return;
  } catch (const dnnl::error& error) {
    throw Failure(Error{"matrix_product", std::string("oneDNN: ") + error.what(), "", ""});
  }
  throw Failure(Error{"workspace",
                      "no implementation of the (" + std::to_string(shape.m) + ", " + std::to_string(shape.k) + ") x (" +
                          std::to_string(shape.k) + ", " + std::to_string(shape.n) + ") product fits a workspace of " +
                          std::to_string(workspace_bytes) + " bytes",
                      "", "see matrix_product_workspace_bytes"});
}

MatrixProduct::~MatrixProduct() = default;
MatrixProduct::MatrixProduct(MatrixProduct&&) noexcept = default;
MatrixProduct& MatrixProduct::operator=(MatrixProduct&&) noexcept = default;

void MatrixProduct::run(const float* a, const float* b, float* c, void* workspace) {
  ThreadLimit limit(implementation_->threads);
  const MatrixProductShape& shape = implementation_->shape;
  float* left = const_cast<float*>(a);
  float* right = const_cast<float*>(b);
  try {
    for (int kind : implementation_->order) {
      Slice& slice = implementation_->kinds[kind];
      void* scratch = static_cast<char*>(workspace) + slice.packed_bytes;
      if (slice.pack) slice.pack->run({right, workspace, scratch});
      slice.product.run({left, slice.pack ? workspace : right, c, scratch});
      left += shape.transpose_a ? slice.k * shape.lda : slice.k;
      right += shape.transpose_b ? slice.k : slice.k * shape.ldb;
    }
  } catch (const dnnl::error& error) {
    throw Failure(Error{"matrix_product", std::string("oneDNN: ") + error.what(), "", ""});
  }
}

int64_t MatrixProduct::needed_bytes() const {
  int64_t bytes = 0;
  for (const Slice& slice : implementation_->kinds) bytes = std::max(bytes, slice.packed_bytes + slice.scratch_bytes);
  return bytes;
}

const char* matrix_product_library() {
  static const std::string version = [] {
    const dnnl_version_t* v = dnnl_version();
    return std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
  }();
  return version.c_str();
}

}  // namespace shardscope
