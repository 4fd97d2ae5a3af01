#pragma once

#include <vector>

#include "engine/base/error.h"

namespace shardscope {

// The errors of the Failure that an action ends in; none where it ends well.
template <class Action>
std::vector<Error> errors_of(Action&& action) {
  try {
    action();
  } catch (const Failure& failure) {
    return failure.errors();
  }
  return {};
}

// The first of them; an empty one likewise.
template <class Action>
Error error_of(Action&& action) {
  const std::vector<Error> errors = errors_of(action);
  return errors.empty() ? Error{} : errors.front();
}

}  // namespace shardscope
