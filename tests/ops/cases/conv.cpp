#include "engine/ops/conv.h"
#include "engine/ops/equation.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

namespace {

// Pictures of 6 x 7 under windows of 3 x 2.
ConvAttributes conv(int64_t stride, ConvPadding padding) {
  return {conv_dimension(6, 3, stride, padding), conv_dimension(7, 2, stride, padding)};
}
TensorType conv_result(const ConvAttributes& conv, int64_t pictures, int64_t features) {
  return array({pictures, conv.height.output, conv.width.output, features});
}

// Pictures of sequence x 4 with two channels, every second column of which is the middle of a window.
ValueId through_pictures(Graph& graph, const Linen& m, ValueId x, ValueId) {
  const ConvAttributes conv{conv_dimension(sequence, 3, 1, ConvPadding::same),
                            conv_dimension(4, 2, 2, ConvPadding::same)};
  const ValueId window = parameter(graph, "window", {3, 2, 2, 4});
  x = append(graph, "rearrange", {square_dense(m, x)}, EquationAttributes{"bs(wc)->bswc", {{'w', 4}}});
  x = append(graph, "conv", {x, window}, conv);
  return append(graph, "rearrange", {x}, EquationAttributes{"bswc->bs(wc)"});
}

std::vector<Attributes> conv_variants() {
  const ConvDimension d{8, 3, 2, 4, 1};
  [[maybe_unused]] const auto& [input, window, stride, output, before] = d;
  const ConvAttributes a{d, d};
  [[maybe_unused]] const auto& [height, width] = a;
  std::vector<Attributes> variants{a};
  for (const ConvDimension& other :
       {ConvDimension{9, 3, 2, 4, 1}, {8, 4, 2, 4, 1}, {8, 3, 3, 4, 1}, {8, 3, 2, 5, 1}, {8, 3, 2, 4, 0}}) {
    variants.push_back(ConvAttributes{other, d});
    variants.push_back(ConvAttributes{d, other});
  }
  return variants;
}

}  // namespace

OpCases conv_cases() {
  const ConvAttributes same = conv(1, ConvPadding::same), valid = conv(2, ConvPadding::valid);
  const TensorType picture = array({12, 6, 7, 6}), window = array({3, 2, 6, 24});
  OpCases all;
  all.cases = {{"conv", {picture, window}, same, {0, 1}},
               {"conv", {picture, window}, valid, {0, 1}},
               {"conv_grad_input", {conv_result(same, 12, 24), window}, same},
               {"conv_grad_kernel", {picture, conv_result(valid, 12, 24)}, valid}};
  for (const ConvAttributes& attributes : {conv(1, ConvPadding::same), conv(2, ConvPadding::same),
                                           conv(1, ConvPadding::valid), conv(3, ConvPadding::valid)}) {
    const TensorType picture = array({4, 6, 7, 4}), window = array({3, 2, 4, 8});
    const TensorType result = conv_result(attributes, 4, 8);
    all.small_cases.push_back({"conv", {picture, window}, attributes});
    all.small_cases.push_back({"conv_grad_input", {result, window}, attributes});
    all.small_cases.push_back({"conv_grad_kernel", {picture, result}, attributes});
  }
  all.networks = {{"convolution", 0, through_pictures}};
  all.attributes = {conv_variants()};
  return all;
}

}  // namespace shardscope::test
