#pragma once

#include <vector>

#include "gui/compare/pinned_plans.h"
#include "gui/workspace/page.h"

namespace shardscope {

struct PageKind {
  const char* title;  // with its mnemonic; without it the page's name, the chapter of the guide, and that of --page
  const char* tip;
  QWidget* (*make)(Workspace& workspace, PinnedPlans& pins);  // with the interface Page
};

// All pages, in the order of their tabs; one line in page_list.cpp adds one.
const std::vector<PageKind>& page_kinds();
QString name_of(const PageKind& kind);  // "Layout"

}  // namespace shardscope
