#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/machine/machine.h"
#include "engine/search/search.h"
#include "engine/search/search_record.h"

namespace shardscope {

// The plans of a search's candidates, in its record: each also as the plan of those whose order of axes links do not
// tell apart from it (link_order.h).
class KnownPlans {
 public:
  KnownPlans(SearchRecord& record, const std::vector<Candidate>& all, const std::vector<Level>& levels);

  // Of one that is known, by itself or by another one. Null: it is to be planned; nothing within: it cannot be.
  const std::optional<Found>* find(int index);
  void add(int index, std::optional<Found> found);
  // Of these those that are to be planned: of alike ones the first.
  std::vector<int> unknown_of(const std::vector<int>& indices);

 private:
  std::string likeness(int index) const;  // what decides the plan of a candidate

  SearchRecord& record_;
  const std::vector<Candidate>& all_;
  const std::vector<Level>& levels_;
  std::map<std::string, int> planned_;  // by likeness
};

}  // namespace shardscope
