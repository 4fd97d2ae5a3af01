#include "gui/window/tour_stops.h"

#include <QStatusBar>

namespace shardscope {

std::vector<TourStop> tour_stops(ToolBar& bar, Centre& centre, Docks& docks, QStatusBar& verdict) {
  const auto page = [&centre](const char* name) {
    return [&centre, name]() -> QWidget* { return centre.show_page(name) ? centre.pages() : nullptr; };
  };
  const auto panel = [&docks](QWidget* widget) {
    return [&docks, widget]() -> QWidget* {
      docks.show(widget);
      return widget;
    };
  };
  return {
      {[&bar] { return bar.mesh_bar(); }, Tour::tr("The mesh"),
       Tour::tr(
           "A grid of devices with named axes. Change a size: everything below follows at once. The arrows go from "
           "one legal size to the next.")},
      {panel(docks.parameters()), Tour::tr("The arrays"),
       Tour::tr(
           "Every parameter with its spec, P('data', None) as in JAX. F2 edits it; select several rows to edit them "
           "together.")},
      {page("layout"), Tour::tr("Where data is"),
       Tour::tr(
           "Which part of the selected array each device holds. Point at a shard or a device: the other lights up.")},
      {panel(docks.inspector()), Tour::tr("Why, and what it costs"),
       Tour::tr("The spec of the selected array, where its layout came from, and the communication that it causes.")},
      {page("collectives"), Tour::tr("What is exchanged"),
       Tour::tr("Every collective of a training step, with the two layouts that caused it.")},
      {page("compare"), Tour::tr("Which is better?"),
       Tour::tr("Pin a plan (Ctrl+P) and change something: both stand side by side. Or plan all meshes of as many "
                "devices (Ctrl+Shift+A).")},
      {page("search"), Tour::tr("Which strategy?"),
       Tour::tr("Search (Ctrl+Shift+F) plans the strategies of this model and draws step time against memory. A double "
                "click takes one.")},
      {[&verdict] { return &verdict; }, Tour::tr("The verdict"),
       Tour::tr("Memory, traffic and predicted time of a step; after an edit, what it changed. Ctrl+Z takes it back.")},
      {[&bar]() -> QWidget* { return bar.findChild<QWidget*>("trainButton"); }, Tour::tr("Train it"),
       Tour::tr("F5 starts one process a device, which runs this very plan; measured values appear beside the "
                "predicted ones. Ctrl+Shift+P finds everything else.")}};
}

std::function<void()> arrangement(Centre& centre, Docks& docks) {
  const int page = centre.pages()->currentIndex();
  const bool is_collapsed = docks.bottom()->is_collapsed();
  std::vector<std::pair<QDockWidget*, bool>> shown;  // and whether it is in front of others
  for (QDockWidget* dock : docks.all()) shown.emplace_back(dock, !dock->isHidden() && !dock->visibleRegion().isEmpty());
  std::vector<QDockWidget*> closed;
  for (QDockWidget* dock : docks.all())
    if (!dock->toggleViewAction()->isChecked()) closed.push_back(dock);
  return [&centre, &docks, page, is_collapsed, shown, closed] {
    centre.pages()->setCurrentIndex(page);
    for (QDockWidget* dock : closed) dock->close();
    for (const auto& [dock, is_front] : shown)
      if (is_front) dock->raise();
    docks.bottom()->set_collapsed(is_collapsed);
  };
}

}  // namespace shardscope
