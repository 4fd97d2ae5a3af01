#include "engine/checkpoint/stored_array.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <unordered_set>
#include <vector>

namespace shardscope {

namespace {

constexpr uint64_t largest = INT64_MAX;

// Throws at a key that its object has already. What is no JSON ends it. (nlohmann's callbacks would do, but take time
// that grows with the square of an object's members.)
class RepeatedKeys : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(int64_t) override { return true; }
  bool number_unsigned(uint64_t) override { return true; }
  bool number_float(double, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(nlohmann::json::binary_t&) override { return true; }
  bool start_object(size_t) override {
    open_.emplace_back();
    return true;
  }
  bool key(std::string& name) override {
    if (open_.back().insert(name).second) return true;
    throw std::invalid_argument(nlohmann::json(name).dump() + " is given twice");
  }
  bool end_object() override {
    open_.pop_back();
    return true;
  }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(size_t, const std::string&, const nlohmann::json::exception&) override { return false; }

 private:
  std::vector<std::unordered_set<std::string>> open_;
};

}  // namespace

nlohmann::json parse_without_repeats(const std::string& text) {
  RepeatedKeys keys;
  nlohmann::json::sax_parse(text, &keys);
  return nlohmann::json::parse(text);
}

template <class Json>
int64_t stored_number(const Json& json) {
  if (!json.is_number_integer() || (json.is_number_unsigned() && json.template get<uint64_t>() > largest)) {
    throw std::invalid_argument("a number is none, or too large");
  }
  return json.template get<int64_t>();
}

template <class Json>
Shape stored_shape(const Json& json) {
  if (!json.is_array() || json.size() > Shape::max_rank) throw std::invalid_argument("a shape is none");
  Shape shape;
  for (const auto& size : json) shape.push_back(stored_number(size));
  if (std::ranges::any_of(shape, [](int64_t size) { return size < 0; })) {
    throw std::invalid_argument("a size is negative");
  }
  return shape;
}

template int64_t stored_number(const nlohmann::json&);
template int64_t stored_number(const nlohmann::ordered_json&);
template Shape stored_shape(const nlohmann::json&);
template Shape stored_shape(const nlohmann::ordered_json&);

std::optional<int64_t> stored_bytes(const TensorType& type) {
  int64_t bytes = byte_size(type.dtype);
  for (int64_t size : type.shape) {
    if (size < 0 || __builtin_mul_overflow(bytes, std::max<int64_t>(size, 1), &bytes)) return std::nullopt;
  }
  return type.bytes();
}

}  // namespace shardscope
