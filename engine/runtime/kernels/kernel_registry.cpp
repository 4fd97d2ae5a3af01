#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "engine/base/error.h"
#include "engine/runtime/kernels/named_kernel.h"

namespace shardscope {

namespace {

using Registry = std::map<std::string_view, std::map<std::string_view, KernelFactory>>;  // by op, by types

const Registry& registry() {
  static const Registry all = [] {
    Registry map;
    for (const std::vector<NamedKernel>& family : kernel_families()) {
      for (const NamedKernel& kernel : family) map[kernel.op].emplace(kernel.types, kernel.factory);
    }
    return map;
  }();
  return all;
}

template <class Map>
std::vector<std::string> keys(const Map& map) {
  std::vector<std::string> names;
  for (const auto& [name, value] : map) names.emplace_back(name);
  return names;
}

std::string joined(std::span<const DType> types) {
  std::string text;
  for (DType type : types) text += (text.empty() ? "" : ",") + std::string(name(type));
  return text;
}

// "f32,f32,f32->f32" -> "f32...->f32"; as it is where the operands are not alike.
std::string of_any_number(std::string_view types) {
  const std::string_view operands = types.substr(0, types.find("->"));
  const std::string_view first = operands.substr(0, operands.find(','));
  for (size_t at = 0; at < operands.size(); at += first.size() + 1) {
    if (operands.substr(at, operands.find(',', at) - at) != first) return std::string(types);
  }
  return fmt::format("{}...{}", first, types.substr(operands.size()));
}

}  // namespace

void* TensorView::elements(DType wanted) const {
  if (dtype == wanted) return data;
  const std::string which = name.empty() ? "an array of shape " + to_string(shape) : name;
  throw Failure(Error{"dtype",
                      fmt::format("{} is {}, not {}", which, shardscope::name(dtype), shardscope::name(wanted)), "",
                      "cast it"});
}

std::string type_signature(std::span<const DType> operands, std::span<const DType> results) {
  return joined(operands) + "->" + joined(results);
}

KernelFactory kernel_factory(std::string_view op, std::string_view types) {
  const std::string name(op);
  const auto kernels = registry().find(op);
  if (kernels == registry().end()) {
    throw Failure(
        Error{"no_kernel", "no kernel computes op '" + name + "'", at_name(name), name_hint(name, keys(registry()))});
  }
  auto found = kernels->second.find(types);
  if (found == kernels->second.end()) found = kernels->second.find(of_any_number(types));
  if (found != kernels->second.end()) return found->second;
  throw Failure(Error{"no_kernel_of_types", fmt::format("no kernel computes op '{}' for types {}", name, types),
                      at_name(name), fmt::format("there are: {}", fmt::join(keys(kernels->second), "; "))});
}

std::unique_ptr<Kernel> make_kernel(std::string_view op, KernelArguments arguments) {
  std::vector<DType> operands, results;
  for (TensorView& view : arguments.inputs) {
    view.name = fmt::format("operand {} of {}", operands.size(), op);
    operands.push_back(view.dtype);
  }
  for (TensorView& view : arguments.outputs) {
    view.name = fmt::format("result {} of {}", results.size(), op);
    results.push_back(view.dtype);
  }
  return kernel_factory(op, type_signature(operands, results))(arguments);
}

}  // namespace shardscope
