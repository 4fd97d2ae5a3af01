#pragma once

#include <exception>
#include <string>
#include <vector>

#include "engine/base/place.h"

namespace shardscope {

// What went wrong, as a person needs to read it. `code` is stable and short ("unknown_key",
// "indivisible"); `message` says what is wrong; `place` says where; `hint` says what would be right (legal sizes,
// near names). `place` and `hint` may be empty.
struct Error {
  std::string code;
  std::string message;
  Place place;
  std::string hint;

  bool operator==(const Error&) const = default;
};

// "place: message (hint)", printable, on one line of at most some 4,000 characters.
std::string to_string(const Error& error);

// Carries one or more errors from the place that found them to the edge of the system.
class Failure : public std::exception {
 public:
  explicit Failure(Error error);
  explicit Failure(std::vector<Error> errors);

  const std::vector<Error>& errors() const { return errors_; }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::vector<Error> errors_;
  std::string text_;
};

void append(std::vector<Error>& errors, std::vector<Error> more);

// Of `names`, those that a person may have meant by `wrong` (small edit distance), nearest first, at most three.
std::vector<std::string> near_names(const std::string& wrong, const std::vector<std::string>& names);

// "did you mean 'a' or 'b'?", or "known: a, b, c" when nothing is near (24 of them, "and N more").
std::string name_hint(const std::string& wrong, const std::vector<std::string>& names);

}  // namespace shardscope
