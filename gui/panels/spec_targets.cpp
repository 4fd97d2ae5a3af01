#include "gui/panels/spec_targets.h"

#include <algorithm>

#include "gui/document/spec_batch.h"
#include "gui/document/spec_text.h"
#include "gui/document/text.h"
#include "gui/panels/spec_editor.h"

namespace shardscope {
namespace {

QString named(const std::vector<ArrayFacts>& targets) {
  return targets.size() == 1 ? targets.front().title.section('/', -2) : QObject::tr("%1 arrays").arg(targets.size());
}

std::vector<ArrayFacts> of_rank(const std::vector<ArrayFacts>& targets, size_t least) {
  std::vector<ArrayFacts> large;
  for (const ArrayFacts& target : targets)
    if (target.shape.size() >= least) large.push_back(target);
  return large;
}

void report_small(Workspace& workspace, size_t all, size_t large, size_t rank) {
  if (large < all)
    workspace.document.tell(QObject::tr("Left as before: %1 of %2, with fewer than %3")
                                .arg(all - large)
                                .arg(counted_text(static_cast<qint64>(all), "array"),
                                     counted_text(static_cast<qint64>(rank), "dimension")));
}

// A spec with an entry for each dimension.
PartitionSpec whole(const ArrayFacts& target) {
  PartitionSpec spec = target.spec;
  spec.dims.resize(std::max(spec.dims.size(), target.shape.size()));
  return spec;
}

}  // namespace

std::vector<ArrayFacts> spec_targets(const Workspace& workspace, const std::vector<ArrayRef>& arrays) {
  const ParameterSpecs specs(workspace.document.config().sharding);
  std::vector<ArrayFacts> targets;
  for (const ArrayRef& array : arrays) {
    if (!has_spec(array)) continue;
    std::optional<ArrayFacts> facts = array_facts(workspace, specs, array);
    if (facts && !facts->shape.empty()) targets.push_back(std::move(*facts));
  }
  return targets;
}

void give_spec(Workspace& workspace, const std::vector<ArrayFacts>& targets, const PartitionSpec& spec) {
  const size_t rank = targets.size() == 1 ? 0 : spec.dims.size();  // of a single one planning says what is wrong
  const std::vector<ArrayFacts> large = of_rank(targets, rank);
  std::vector<SpecChange> changes;
  for (const ArrayFacts& target : large) changes.push_back({target.array, spec});
  set_specs(workspace.document, changes, QObject::tr("%1 = %2").arg(named(large), spec_text(spec)));
  report_small(workspace, targets.size(), large.size(), rank);
}

void give_dim(Workspace& workspace, const std::vector<ArrayFacts>& targets, int dim,
              const std::vector<std::string>& axes) {
  const auto at = static_cast<size_t>(dim);
  const std::vector<ArrayFacts> large = of_rank(targets, at + 1);
  std::vector<SpecChange> changes;
  for (const ArrayFacts& target : large) {
    if (axes.empty() && target.spec.dims.size() <= at) continue;
    changes.push_back({target.array, whole(target)});
    changes.back().spec.dims[at] = axes;
  }
  set_specs(workspace.document, changes,
            QObject::tr("%1 dimension %2 = %3").arg(named(large)).arg(dim).arg(dim_text(axes)));
  report_small(workspace, targets.size(), large.size(), at + 1);
}

void give_all_layers(Workspace& workspace, const ArrayRef& array) {
  const auto* parameter = std::get_if<ParameterRef>(&array);
  const std::optional<ArrayFacts> facts = array_facts(workspace, array);
  if (parameter && facts)
    set_in_all_layers(workspace.document, workspace.planner.parameters(), parameter->path, whole(*facts));
}

void add_swaps(QMenu& menu, int rank, Workspace& workspace, const std::function<std::vector<ArrayFacts>()>& targets) {
  for (int first = 0; first < rank; ++first)
    for (int second = first + 1; second < rank; ++second)
      menu.addAction(QObject::tr("Dimensions %1 and %2").arg(first).arg(second), &workspace.document,
                     [&workspace, targets, first, second] { swap_dims(workspace, targets(), first, second); });
}

void swap_dims(Workspace& workspace, const std::vector<ArrayFacts>& targets, int first, int second) {
  const auto rank = static_cast<size_t>(std::max(first, second)) + 1;
  const std::vector<ArrayFacts> large = of_rank(targets, rank);
  std::vector<SpecChange> changes;
  for (const ArrayFacts& target : large) {
    PartitionSpec spec = swapped(target.spec, static_cast<int>(target.shape.size()), first, second);
    if (spec != whole(target)) changes.push_back({target.array, std::move(spec)});
  }
  set_specs(workspace.document, changes,
            QObject::tr("swap dimensions %1 and %2 of %3").arg(first).arg(second).arg(named(large)));
  report_small(workspace, targets.size(), large.size(), rank);
}

}  // namespace shardscope
