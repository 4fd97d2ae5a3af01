#pragma once

#include <vector>

#include "engine/export/export_kind.h"
#include "gui/search/strategy_search.h"

namespace shardscope {

// What a search has found, as File > Export writes it: a table of all candidates (CSV), and the document that `shardrun
// search --json` prints (JSON). `rows`: of found(), as the table has them; the others come behind. They keep what they
// write: the search may go on.
std::vector<ExportKind> found_export_kinds(const StrategySearch& search, std::vector<int> rows);

}  // namespace shardscope
