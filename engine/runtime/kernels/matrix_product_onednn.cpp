#include <dnnl.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/align.h"
#include "engine/base/error.h"
#include "engine/base/instruction_set.h"
#include "engine/runtime/kernels/matrix_product.h"
#include "engine/runtime/kernels/parallel.h"
#include "engine/runtime/kernels/serial_product.h"

namespace shardscope {

namespace {

using dnnl::memory;

constexpr int64_t transposed_slice = 512;  // of k, where bf16 A is transposed: oneDNN copies both then, best from cache

const dnnl::engine& cpu() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

memory::data_type data_type(DType dtype) {
  return dtype == DType::bf16 ? memory::data_type::bf16 : memory::data_type::f32;
}

memory::desc matrix(DType dtype, int64_t rows, int64_t columns, int64_t leading, bool transposed) {
  return {{rows, columns}, data_type(dtype), transposed ? memory::dims{1, leading} : memory::dims{leading, 1}};
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

[[noreturn]] void rethrow(const dnnl::error& error) {
  throw Failure(Error{"matrix_product", std::string("oneDNN: ") + error.what(), "", ""});
}

// One call of oneDNN, with its arguments laid out beforehand.
class Call {
 public:
  Call(dnnl::primitive primitive, std::vector<std::pair<int, memory::desc>> arguments)
      : primitive_(std::move(primitive)) {
    for (auto& [index, description] : arguments) {
      memories_.push_back(description.get_size() > 0 ? memory(description, cpu(), nullptr) : memory());
      if (memories_.back()) arguments_.push_back({index, memories_.back().get()});
    }
  }

  void run(std::initializer_list<const void*> data) {
    thread_local const dnnl::stream stream(cpu());
    size_t i = 0;
    for (const void* address : data) {
      if (memory& argument = memories_[i++]) argument.set_data_handle(const_cast<void*>(address));
    }
    dnnl::error::wrap_c_api(
        dnnl_primitive_execute(primitive_.get(), stream.get(), static_cast<int>(arguments_.size()), arguments_.data()),
        "matrix product");
  }

 private:
  dnnl::primitive primitive_;
  std::vector<memory> memories_;  // empty where an argument has no bytes (scratchpads)
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

Slice make_slice(const MatrixProductShape& shape, int64_t k, bool accumulate, bool packed) {
  const memory::desc a = matrix(shape.operands, shape.m, k, shape.lda, shape.transpose_a);
  const memory::desc b = matrix(shape.operands, k, shape.n, shape.ldb, shape.transpose_b);
  const memory::desc c = matrix(shape.result, shape.m, shape.n, shape.ldc, false);
  const memory::desc any({k, shape.n}, data_type(shape.operands), memory::format_tag::any);
  const auto description = describe<dnnl::matmul>(a, packed ? any : b, c, accumulate);
  const memory::desc chosen = description.weights_desc();
  Slice slice{std::nullopt,
              Call(dnnl::matmul(description), {{DNNL_ARG_SRC, a},
                                               {DNNL_ARG_WEIGHTS, chosen},
                                               {DNNL_ARG_DST, c},
                                               {DNNL_ARG_SCRATCHPAD, description.scratchpad_desc()}}),
              k, 0, size_of(description.scratchpad_desc())};
  if (chosen != b) {
    const dnnl::reorder::primitive_desc reorder(cpu(), b, cpu(), chosen, attributes(false));
    slice.pack.emplace(
        dnnl::reorder(reorder),
        std::vector<std::pair<int, memory::desc>>{
            {DNNL_ARG_FROM, b}, {DNNL_ARG_TO, chosen}, {DNNL_ARG_SCRATCHPAD, reorder.scratchpad_desc()}});
    slice.packed_bytes = round_up(size_of(chosen));
    slice.scratch_bytes = std::max(slice.scratch_bytes, size_of(reorder.scratchpad_desc()));
  }
  return slice;
}

class OnednnProduct : public SerialProduct {
 public:
  OnednnProduct(const MatrixProductShape& shape, bool packed, int64_t workspace_bytes) : shape_(shape) {
    if (packed) {
      // A sum of slices is stored in between, so it must be f32; and slices of bf16 operands must be dense.
      const bool sliced = shape.operands == DType::f32 || (shape.result == DType::f32 && shape.transpose_a);
      int64_t size = shape.transpose_a && sliced ? std::min(shape.k, transposed_slice) : shape.k;
      bool fits = cut(size, true, workspace_bytes);
      while (!fits && size > 64 && sliced) {
        size = round_up(size / 2);
        fits = cut(size, true, workspace_bytes);
      }
      if (fits) return;
    }
    if (!cut(shape.k, false, workspace_bytes)) throw_too_small(shape, workspace_bytes);
  }

  void run(const void* a, const void* b, void* c, void* workspace) override try {
    const ThreadLimit limit(1);
    if (order_.size() > 1 && !shape_.accumulate) {
      for (int64_t row = 0; row < shape_.m; ++row)
        std::fill_n(static_cast<float*>(c) + row * shape_.ldc, shape_.n, 0.0f);
    }
    const char *left = static_cast<const char*>(a), *right = static_cast<const char*>(b);
    const int64_t bytes = byte_size(shape_.operands);
    for (int kind : order_) {
      Slice& slice = kinds_[kind];
      void* scratch = static_cast<char*>(workspace) + slice.packed_bytes;
      if (slice.pack) slice.pack->run({right, workspace, scratch});
      slice.product.run({left, slice.pack ? workspace : right, c, scratch});
      left += (shape_.transpose_a ? slice.k * shape_.lda : slice.k) * bytes;
      right += (shape_.transpose_b ? slice.k : slice.k * shape_.ldb) * bytes;
    }
  } catch (const dnnl::error& error) {
    rethrow(error);
  }

  int64_t needed_bytes() const override {
    int64_t bytes = 0;
    for (const Slice& slice : kinds_) bytes = std::max(bytes, slice.packed_bytes + slice.scratch_bytes);
    return bytes;
  }

 private:
  // Slices of `size` of k, each added to the result; false where a kind of slice does not fit the workspace.
  bool cut(int64_t size, bool packed, int64_t workspace_bytes) {
    kinds_.clear();
    order_.clear();
    for (int64_t done = 0; done < shape_.k; done += size) {
      const int64_t k = std::min(size, shape_.k - done);
      if (done == 0 || k != size) {
        kinds_.push_back(make_slice(shape_, k, shape_.accumulate || size < shape_.k, packed));
        if (kinds_.back().packed_bytes + kinds_.back().scratch_bytes > workspace_bytes) return false;
      }
      order_.push_back(static_cast<int>(kinds_.size()) - 1);
    }
    return true;
  }

  MatrixProductShape shape_;
  std::vector<Slice> kinds_;  // a whole slice, and what may be left of k
  std::vector<int> order_;    // of kinds
};

// A product of f32 with a transposed left operand, by oneDNN's sgemm: its matmul takes 1.1 times as long where it has
// AVX-512. Slices of k are copied where rows lie a multiple of 1024 bytes apart: sgemm reads narrow results' operands
// in place, down the columns, and those share a few lines of the cache then (twice the time, with AVX2).
class TransposedProduct : public SerialProduct {
 public:
  TransposedProduct(const MatrixProductShape& shape, int64_t workspace_bytes)
      : shape_(shape), left_{shape.m, shape.lda}, right_{shape.n, shape.ldb}, slice_(std::min<int64_t>(shape.k, 256)) {
    while (slice_ >= 64 && needed_bytes() > workspace_bytes) slice_ /= 2;
    if (needed_bytes() > workspace_bytes) left_.copied_stride = right_.copied_stride = 0;
    if (needed_bytes() == 0) slice_ = shape.k;
  }

  void run(const void* a, const void* b, void* c, void* workspace) override try {
    const ThreadLimit limit(1);
    float* left_copy = static_cast<float*>(workspace);
    float* right_copy = left_copy + slice_ * left_.copied_stride;
    for (int64_t done = 0; done < shape_.k; done += slice_) {
      const int64_t k = std::min(slice_, shape_.k - done);
      const float* left = left_.rows(static_cast<const float*>(a), done, k, left_copy);
      const float* right = right_.rows(static_cast<const float*>(b), done, k, right_copy);
      const float kept = shape_.accumulate || done > 0 ? 1.0f : 0.0f;
      dnnl::error::wrap_c_api(dnnl_sgemm('T', 'N', shape_.m, shape_.n, k, 1.0f, left, left_.used_stride(), right,
                                         right_.used_stride(), kept, static_cast<float*>(c), shape_.ldc),
                              "matrix product");
    }
  } catch (const dnnl::error& error) {
    rethrow(error);
  }

  int64_t needed_bytes() const override {
    return slice_ * (left_.copied_stride + right_.copied_stride) * static_cast<int64_t>(sizeof(float));
  }

 private:
  struct Operand {
    int64_t columns, stride;
    int64_t copied_stride = stride % 256 == 0 ? round_up(columns, 32) + 16 : 0;  // 0: read in place

    int64_t used_stride() const { return copied_stride > 0 ? copied_stride : stride; }

    const float* rows(const float* data, int64_t first, int64_t count, float* copy) const {
      data += first * stride;
      if (copied_stride == 0) return data;
      for (int64_t row = 0; row < count; ++row) std::copy_n(data + row * stride, columns, copy + row * copied_stride);
      return copy;
    }
  };

  MatrixProductShape shape_;
  Operand left_, right_;
  int64_t slice_;  // of k
};

}  // namespace

bool has_onednn() { return true; }

std::string onednn_version() {
  const dnnl_version_t* version = dnnl_version();
  return std::to_string(version->major) + '.' + std::to_string(version->minor) + '.' + std::to_string(version->patch);
}

bool has_onednn_bf16() {
  constexpr int needed = static_cast<int>(dnnl::cpu_isa::avx512_core_bf16);
  static const bool all = (static_cast<int>(dnnl::get_effective_cpu_isa()) & needed) == needed;
  return all;
}

void limit_onednn(InstructionSet most) {
  const dnnl::cpu_isa sets[instruction_set_count] = {dnnl::cpu_isa::sse41, dnnl::cpu_isa::avx2,
                                                     dnnl::cpu_isa::avx512_core, dnnl::cpu_isa::avx512_core_bf16,
                                                     dnnl::cpu_isa::avx512_core_amx};
  dnnl::set_max_cpu_isa(sets[static_cast<size_t>(most)]);
}

std::unique_ptr<SerialProduct> make_onednn_product(const MatrixProductShape& shape, bool packed,
                                                   int64_t workspace_bytes) try {
  if (shape.operands == DType::f32 && shape.transpose_a && !shape.transpose_b) {
    return std::make_unique<TransposedProduct>(shape, workspace_bytes);
  }
  const ThreadLimit limit(1);
  return std::make_unique<OnednnProduct>(shape, packed, workspace_bytes);
} catch (const dnnl::error& error) {
  rethrow(error);
}

}  // namespace shardscope
