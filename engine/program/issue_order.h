#pragma once

#include <cstddef>
#include <vector>

namespace shardscope {

// The order in which a rank issues the instructions of a task; by itself as they are listed.
//
// Example: a task of start, done, compute that computes before it waits: IssueOrder({0, 2, 1}); index(1) = 2, the
// compute; place(1) = 2, the done is issued last.
class IssueOrder {
 public:
  IssueOrder() = default;
  // Instructions by place. Throws Failure (invalid_program) where it is not a permutation.
  explicit IssueOrder(std::vector<int> indices);

  bool is_as_listed() const { return indices_.empty(); }
  int index(int place) const { return indices_.empty() ? place : indices_[static_cast<size_t>(place)]; }
  int place(int index) const { return places_.empty() ? index : places_[static_cast<size_t>(index)]; }
  // Of as many instructions; 0 where it is as listed.
  size_t size() const { return indices_.size(); }

  bool operator==(const IssueOrder&) const = default;

 private:
  std::vector<int> indices_, places_;  // by place; by index
};

}  // namespace shardscope
