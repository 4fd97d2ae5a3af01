#pragma once

#include <optional>

#include "gui/look/wrapped_label.h"
#include "gui/workspace/workspace.h"

namespace shardscope {

// Where a plan does not fit: by how much, and the changes of least cost after which it does, with the step time and
// memory that each leads to; further links lead to a search on as many devices, and on more. A link makes the change,
// as one edit that undo takes back. Hidden where the plan fits.
class MemoryWaysOut : public WrappedLabel {
  Q_OBJECT
 public:
  explicit MemoryWaysOut(Workspace& workspace, QWidget* parent = nullptr);

 signals:
  void searchWanted(int64_t devices);

 private:
  void refresh();
  void apply(const QString& link);
  std::optional<size_t> place_of_finding() const;  // in the list of findings

  Workspace& workspace_;
};

}  // namespace shardscope
