#pragma once

#include <exception>
#include <vector>

#include "engine/base/cancelled.h"
#include "engine/base/error.h"

namespace shardscope {

// Does work of another thread, for a person who reads why it failed. Nothing where it did not, or was cancelled: then
// nobody takes what it made.
template <class Work>
std::vector<Error> errors_of_work(const Work& work) {
  try {
    work();
  } catch (const Failure& failure) {
    return failure.errors();
  } catch (const Cancelled&) {
  } catch (const std::exception& fault) {
    return {{"internal", fault.what(), "", "this is a fault of the program, not of the run file"}};
  }
  return {};
}

}  // namespace shardscope
