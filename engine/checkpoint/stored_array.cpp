#include "engine/checkpoint/stored_array.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>
#include <vector>

namespace shardscope {

namespace {

constexpr uint64_t largest = INT64_MAX;

// Makes the value that a text says, as it is read. (nlohmann's callbacks see repeated keys, too, but take time that
// grows with the square of an object's members.)
class UniqueKeys : public nlohmann::json_sax<nlohmann::json> {
 public:
  using Value = nlohmann::json;

  Value value;

  bool null() override { return add(nullptr); }
  bool boolean(bool truth) override { return add(truth); }
  bool number_integer(int64_t number) override { return add(number); }
  bool number_unsigned(uint64_t number) override { return add(number); }
  bool number_float(double number, const std::string&) override { return add(number); }
  bool string(std::string& text) override { return add(std::move(text)); }
  bool binary(Value::binary_t& bytes) override { return add(std::move(bytes)); }
  bool start_object(size_t) override { return open(Value::object()); }
  bool start_array(size_t) override { return open(Value::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& name) override {
    const auto [member, is_new] = open_.back()->get_ref<Value::object_t&>().try_emplace(std::move(name));
    if (!is_new) throw std::invalid_argument(Value(member->first).dump() + " is given twice");
    member_ = &member->second;
    return true;
  }
  bool parse_error(size_t, const std::string&, const Value::exception& fault) override { throw fault; }

 private:
  Value& put(Value added) {
    if (open_.empty()) return value = std::move(added);
    if (open_.back()->is_object()) return *member_ = std::move(added);
    return open_.back()->emplace_back(std::move(added));
  }
  bool add(Value added) {
    put(std::move(added));
    return true;
  }
  bool open(Value container) {
    open_.push_back(&put(std::move(container)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::vector<Value*> open_;  // objects and arrays that have not ended, the outermost first
  Value* member_ = nullptr;   // of the innermost object, the value of the key that was read last
};

}  // namespace

nlohmann::json parse_without_repeats(const std::string& text) {
  UniqueKeys read;
  nlohmann::json::sax_parse(text, &read);
  return std::move(read.value);
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
