#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <typeinfo>
#include <utility>

#include "engine/base/error.h"

namespace shardscope {

// What an op needs besides its operands: a plain struct of the op's own, made once when the op is made. Values share
// one copy.
//
// A struct is an attribute type when it has operator== and a function to_string(const T&), found beside it, that says
// all of it ("equation=bse,ef->bsf"): listings show that text, and the hash of a plan covers it. Where an op has very
// many different ones, a function hash_of(const T&) beside it tells them apart quickly.
class Attributes {
 public:
  Attributes() = default;  // none
  template <class T>
  requires(!std::is_same_v<std::remove_cvref_t<T>, Attributes>) Attributes(T value)
      : held_(std::make_shared<const HeldAs<T>>(std::move(value))) {}

  // Throws Failure (code attributes) where these are attributes of another type.
  template <class T>
  const T& as() const {
    if (!held_ || held_->type() != typeid(T)) {
      throw Failure(Error{"attributes", "the attributes '" + text() + "' are not those of this op", "", ""});
    }
    return static_cast<const HeldAs<T>*>(held_.get())->value;
  }
  template <class T>
  bool are() const {
    return held_ && held_->type() == typeid(T);
  }
  bool same_type(const Attributes& other) const {
    return held_ && other.held_ ? held_->type() == other.held_->type() : held_ == other.held_;
  }

  std::string text() const { return held_ ? held_->text() : std::string(); }
  // Equal where the attributes are.
  uint64_t hash() const { return held_ ? held_->hash() : 0; }
  bool operator==(const Attributes& other) const {
    return held_ == other.held_ || (held_ && other.held_ && held_->equals(*other.held_));
  }

 private:
  struct Held {
    virtual ~Held() = default;
    virtual const std::type_info& type() const = 0;
    virtual std::string text() const = 0;
    virtual uint64_t hash() const = 0;
    virtual bool equals(const Held& other) const = 0;
  };

  template <class T>
  struct HeldAs : Held {
    explicit HeldAs(T v) : value(std::move(v)) {}
    const std::type_info& type() const override { return typeid(T); }
    std::string text() const override { return to_string(value); }
    uint64_t hash() const override {
      if constexpr (requires { hash_of(value); }) {
        return hash_of(value);
      } else {
        return 0;
      }
    }
    bool equals(const Held& other) const override {
      return other.type() == typeid(T) && static_cast<const HeldAs&>(other).value == value;
    }
    T value;
  };

  std::shared_ptr<const Held> held_;
};

}  // namespace shardscope
