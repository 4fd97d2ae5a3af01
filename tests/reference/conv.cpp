#include "engine/ops/conv.h"

#include "tests/reference/named_reference.h"

namespace shardscope::reference {

namespace {

// Once for each product of a convolution: visit(element of the picture, of the kernel, of the result).
template <class Visit>
void for_each_product(const ConvAttributes& attributes, int64_t pictures, int64_t channels, int64_t features,
                      Visit visit) {
  const auto& [height, width] = attributes;
  auto input = [](const ConvDimension& d, int64_t output, int64_t offset) {
    return output * d.stride - d.before + offset;
  };
  auto inside = [](const ConvDimension& d, int64_t at) { return at >= 0 && at < d.input; };
  for (int64_t b = 0; b < pictures; ++b) {
    for (int64_t p = 0; p < height.output; ++p) {
      for (int64_t q = 0; q < width.output; ++q) {
        for (int64_t y = 0; y < height.window; ++y) {
          for (int64_t x = 0; x < width.window; ++x) {
            const int64_t h = input(height, p, y), w = input(width, q, x);
            if (!inside(height, h) || !inside(width, w)) continue;
            for (int64_t i = 0; i < channels; ++i) {
              for (int64_t o = 0; o < features; ++o) {
                visit(((b * height.input + h) * width.input + w) * channels + i,
                      ((y * width.window + x) * channels + i) * features + o,
                      ((b * height.output + p) * width.output + q) * features + o);
              }
            }
          }
        }
      }
    }
  }
}

Results conv(const Call& call) {
  const ConvAttributes& attributes = call.attributes.as<ConvAttributes>();
  const int64_t pictures = call.shape(0)[0], features = call.shape(1)[3];
  Values result = Values::Zero(pictures * attributes.height.output * attributes.width.output * features);
  for_each_product(attributes, pictures, call.shape(0)[3], features, [&](int64_t picture, int64_t kernel, int64_t at) {
    result[at] += call.values(0)[picture] * call.values(1)[kernel];
  });
  return {result};
}

Results conv_grad_input(const Call& call) {
  const ConvAttributes& attributes = call.attributes.as<ConvAttributes>();
  const int64_t pictures = call.shape(0)[0], channels = call.shape(1)[2];
  Values result = Values::Zero(pictures * attributes.height.input * attributes.width.input * channels);
  for_each_product(attributes, pictures, channels, call.shape(0)[3], [&](int64_t picture, int64_t kernel, int64_t at) {
    result[picture] += call.values(0)[at] * call.values(1)[kernel];
  });
  return {result};
}

Results conv_grad_kernel(const Call& call) {
  const ConvAttributes& attributes = call.attributes.as<ConvAttributes>();
  const int64_t channels = call.shape(0)[3], features = call.shape(1)[3];
  Values result = Values::Zero(attributes.height.window * attributes.width.window * channels * features);
  for_each_product(attributes, call.shape(0)[0], channels, features, [&](int64_t picture, int64_t kernel, int64_t at) {
    result[kernel] += call.values(0)[picture] * call.values(1)[at];
  });
  return {result};
}

}  // namespace

std::vector<NamedReference> conv_references() {
  return {{"conv", conv}, {"conv_grad_input", conv_grad_input}, {"conv_grad_kernel", conv_grad_kernel}};
}

}  // namespace shardscope::reference
