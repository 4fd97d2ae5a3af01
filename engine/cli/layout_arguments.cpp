#include "engine/cli/layout_arguments.h"

#include <fmt/format.h>

#include <optional>

#include "engine/base/number_text.h"
#include "engine/config/placement_text.h"
#include "engine/config/read_specs.h"

namespace shardscope {

namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  size_t start = 0;
  for (size_t end; (end = text.find(separator, start)) != std::string::npos; start = end + 1) {
    parts.push_back(text.substr(start, end - start));
  }
  parts.push_back(text.substr(start));
  return parts;
}

[[noreturn]] void refuse(const std::string& message, const char* argument, const std::string& hint) {
  throw Failure(Error{"bad_argument", message, at_argument(argument), hint});
}

}  // namespace

Mesh parse_mesh_argument(const std::string& axes, const std::string& devices) {
  std::vector<MeshAxis> parsed;
  for (const std::string& part : split(axes, ',')) {
    size_t equals = part.find('=');
    auto size = equals == std::string::npos ? std::nullopt : number_of<int64_t>(part.substr(equals + 1));
    if (!size) refuse(fmt::format("'{}' is no mesh axis", part), "--mesh", "NAME=SIZE,... as in data=4,model=2");
    parsed.push_back({part.substr(0, equals), *size});
  }
  std::vector<int> order;
  for (const std::string& part : devices.empty() ? std::vector<std::string>{} : split(devices, ',')) {
    auto device = number_of<int>(part);
    if (!device) refuse(fmt::format("'{}' is no device number", part), "--devices", "numbers as in 0,2,1,3");
    order.push_back(*device);
  }
  try {
    return Mesh(parsed, order);
  } catch (const Failure& failure) {
    std::vector<Error> errors = failure.errors();
    for (Error& error : errors) {
      error.place = at_argument(is_inside(error.place.path, "mesh.devices") ? "--devices" : "--mesh");
    }
    throw Failure(errors);
  }
}

PartitionSpec parse_spec_argument(const std::string& text) {
  std::vector<Error> errors;
  try {
    if (text.find_first_not_of(' ') != std::string::npos && text[text.find_first_not_of(' ')] != '[')
      return parse_spec(text);
    FaultList faults("", errors);
    const PartitionSpec spec = read_spec(read_json(text, ""), "", faults);
    if (errors.empty()) return spec;
  } catch (const Failure& failure) {
    errors = failure.errors();
  }
  for (Error& error : errors) error.place.argument = "--spec";
  throw Failure(std::move(errors));
}

Shape parse_shape_argument(const std::string& sizes) {
  Shape shape;
  if (sizes.empty()) return shape;
  const std::vector<std::string> parts = split(sizes, ',');
  if (parts.size() > Shape::max_rank) {
    refuse(fmt::format("{} dimensions are too many", parts.size()), "--shape",
           fmt::format("at most {}", Shape::max_rank));
  }
  for (const std::string& part : parts) {
    auto size = number_of<int64_t>(part);
    if (!size || *size < 0) refuse(fmt::format("'{}' is no size", part), "--shape", "sizes as in 1024,512");
    shape.push_back(*size);
  }
  return shape;
}

}  // namespace shardscope
