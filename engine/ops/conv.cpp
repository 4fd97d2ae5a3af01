#include "engine/ops/conv.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/align.h"
#include "engine/base/error.h"
#include "engine/ops/labelled_op.h"
#include "engine/ops/workspace.h"

namespace shardscope {

ConvDimension conv_dimension(int64_t input, int64_t window, int64_t stride, ConvPadding padding) {
  if (std::min({input, window, stride}) < 1) {
    throw Failure(Error{"conv", fmt::format("input {}, window {} and stride {}", input, window, stride), "",
                        "all of them are at least 1"});
  }
  if (padding == ConvPadding::same) {
    const int64_t output = (input + stride - 1) / stride;
    const int64_t zeros = std::max<int64_t>(0, (output - 1) * stride + window - input);
    return {input, window, stride, output, zeros / 2};
  }
  if (window > input) {
    throw Failure(Error{"conv", fmt::format("a window of {} is larger than its input of {}", window, input), "",
                        fmt::format("at most {}, or pad: \"same\"", input)});
  }
  return {input, window, stride, (input - window) / stride + 1, 0};
}

std::string to_string(const ConvAttributes& attributes) {
  auto text = [](const ConvDimension& d) {
    return fmt::format("{}/{}->{} by {} from {}", d.input, d.stride, d.output, d.window, -d.before);
  };
  return "height=" + text(attributes.height) + ", width=" + text(attributes.width);
}

int64_t conv_block_rows(int64_t outputs, int64_t patch) {
  constexpr int64_t elements = 1 << 18;
  return std::clamp<int64_t>(elements / std::max<int64_t>(patch, 1), 1, std::max<int64_t>(outputs, 1));
}

namespace {

// Dimensions: b picture, h and w its height and width, i its channels; p, q and o those of the result; y and x the
// window's. Everything of a picture and of the window is whole on each device; b, i and o may be split, i as the
// contraction of a product.
class ConvOp : public LabelledOp {
 public:
  std::string_view work_kind() const override { return "convolutions"; }
  bool is_matrix_product() const override { return true; }

 protected:
  static Labels conv_labels(const Attributes& attributes, std::vector<std::string> operands, std::string result) {
    const auto& [height, width] = attributes.as<ConvAttributes>();
    Labels labels{std::move(operands), {std::move(result)}, "hwpqyx", false};
    labels.sizes = {{'h', height.input}, {'p', height.output}, {'y', height.window},
                    {'w', width.input},  {'q', width.output},  {'x', width.window}};
    return labels;
  }
  // Of `outputs` results (b, p, q) of `features` each, from windows of `channels`.
  static double product_flops(const Attributes& attributes, const Shape& output, int64_t channels) {
    return 2.0 * static_cast<double>(element_count(output)) * static_cast<double>(patch(attributes, channels));
  }
  static int64_t positions(const Shape& result) { return result[0] * result[1] * result[2]; }
  static int64_t patch(const Attributes& attributes, int64_t channels) {
    const auto& [height, width] = attributes.as<ConvAttributes>();
    return height.window * width.window * channels;
  }
  // Patches of a block, and the largest product of one.
  static int64_t block_bytes(int64_t patch, const Shape& output, int threads,
                             int64_t (*product)(int64_t rows, int64_t patch, int64_t features, int threads)) {
    const int64_t rows = conv_block_rows(output[0] * output[1] * output[2], patch);
    return round_up(4 * rows * patch) + product(rows, patch, output[3], threads);
  }
  double flops_per_element() const override { return 0; }
};

// (d result (b, p, q, o), kernel (y, x, i, o)) -> d picture (b, h, w, i).
class ConvGradInput : public ConvOp {
 public:
  std::string_view name() const override { return "conv_grad_input"; }
  double flops(const Attributes& attributes, std::span<const TensorType> operands,
               std::span<const TensorType>) const override {
    return product_flops(attributes, operands[0].shape, operands[1].shape[2]);
  }
  std::vector<ProductWork> products(const Attributes& attributes, std::span<const TensorType> operands,
                                    std::span<const TensorType>) const override {
    const Shape& result = operands[0].shape;
    return {{positions(result), patch(attributes, operands[1].shape[2]), result[3], 1, false}};
  }
  int64_t workspace_bytes(const Attributes& attributes, std::span<const TensorType> operands,
                          std::span<const TensorType>, int threads) const override {
    return block_bytes(patch(attributes, operands[1].shape[2]), operands[0].shape, threads,
                       [](int64_t rows, int64_t patch, int64_t features, int count) {
                         return matrix_product_workspace_bytes(rows, patch, features, count);
                       });
  }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType>) const override {
    return conv_labels(attributes, {"bpqo", "yxio"}, "bhwi");
  }
};

// (picture (b, h, w, i), d result (b, p, q, o)) -> d kernel (y, x, i, o).
class ConvGradKernel : public ConvOp {
 public:
  std::string_view name() const override { return "conv_grad_kernel"; }
  double flops(const Attributes& attributes, std::span<const TensorType> operands,
               std::span<const TensorType>) const override {
    return product_flops(attributes, operands[1].shape, operands[0].shape[3]);
  }
  std::vector<ProductWork> products(const Attributes& attributes, std::span<const TensorType> operands,
                                    std::span<const TensorType>) const override {
    const Shape& result = operands[1].shape;
    return {{patch(attributes, operands[0].shape[3]), result[3], positions(result), 1, true}};
  }
  int64_t workspace_bytes(const Attributes& attributes, std::span<const TensorType> operands,
                          std::span<const TensorType>, int threads) const override {
    return block_bytes(patch(attributes, operands[0].shape[3]), operands[1].shape, threads,
                       [](int64_t rows, int64_t patch, int64_t features, int count) {
                         return matrix_product_workspace_bytes(patch, features, rows, count);
                       });
  }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType>) const override {
    return conv_labels(attributes, {"bhwi", "bpqo"}, "yxio");
  }
};

const ConvGradInput conv_grad_input;
const ConvGradKernel conv_grad_kernel;

// (picture (b, h, w, i), kernel (y, x, i, o)) -> (b, p, q, o): jax.lax.conv_general_dilated of NHWC pictures and HWIO
// kernels.
class Conv : public ConvOp {
 public:
  std::string_view name() const override { return "conv"; }
  double flops(const Attributes& attributes, std::span<const TensorType> operands,
               std::span<const TensorType> results) const override {
    return product_flops(attributes, results[0].shape, operands[0].shape[3]);
  }
  std::vector<ProductWork> products(const Attributes& attributes, std::span<const TensorType> operands,
                                    std::span<const TensorType> results) const override {
    const Shape& result = results[0].shape;
    return {{positions(result), result[3], patch(attributes, operands[0].shape[3]), 1, false}};
  }
  int64_t workspace_bytes(const Attributes& attributes, std::span<const TensorType> operands,
                          std::span<const TensorType> results, int threads) const override {
    return block_bytes(patch(attributes, operands[0].shape[3]), results[0].shape, threads,
                       [](int64_t rows, int64_t patch, int64_t features, int count) {
                         return matrix_product_workspace_bytes(rows, features, patch, count);
                       });
  }

  void gradient(GradientContext& context) const override {
    const Op op = context.graph.ops[context.op];
    const ValueId cotangent = context.result_cotangents[0];
    if (context.trained[1]) {
      context.operand_cotangents[1] =
          context.append_value(conv_grad_kernel, {op.inputs[0], cotangent}, op.attributes, "kernel");
    }
    if (context.trained[0]) {
      context.operand_cotangents[0] =
          context.append_value(conv_grad_input, {cotangent, op.inputs[1]}, op.attributes, "input");
    }
  }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType>) const override {
    return conv_labels(attributes, {"bhwi", "yxio"}, "bpqo");
  }
};

const Conv conv;

}  // namespace

std::vector<const OpDefinition*> conv_ops() { return {&conv, &conv_grad_input, &conv_grad_kernel}; }

}  // namespace shardscope
