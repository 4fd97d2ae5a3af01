#include "gui/window/page_list.h"

#include "gui/compare/compare_page.h"
#include "gui/pages/collectives_page.h"
#include "gui/pages/flow_page.h"
#include "gui/pages/layout_page.h"
#include "gui/pages/machine_page.h"
#include "gui/pages/memory_page.h"
#include "gui/pages/pipeline_page.h"
#include "gui/pages/timeline_page.h"
#include "gui/search/search_page.h"

namespace shardscope {
namespace {

template <class Widget>
QWidget* of_plan(Workspace& workspace, PinnedPlans&) {
  return new Widget(workspace);
}

template <class Widget>
QWidget* with_pins(Workspace& workspace, PinnedPlans& pins) {
  return new Widget(workspace, pins);
}

}  // namespace

const std::vector<PageKind>& page_kinds() {
  static const std::vector<PageKind> kinds = {
      {"&Layout", QT_TRANSLATE_NOOP("Page", "How the selected array is sharded over the devices."),
       of_plan<LayoutPage>},
      {"Flo&w",
       QT_TRANSLATE_NOOP("Page",
                         "The instructions of the program, with the layout of what each computes and every reshard."),
       of_plan<FlowPage>},
      {"&Memory", QT_TRANSLATE_NOOP("Page", "What fills each device's memory, and when."), of_plan<MemoryPage>},
      {"&Collectives", QT_TRANSLATE_NOOP("Page", "Everything the devices exchange in a training step, and why."),
       of_plan<CollectivesPage>},
      {"&Timeline", QT_TRANSLATE_NOOP("Page", "Where the time of a training step goes."), of_plan<TimelinePage>},
      {"P&ipeline", QT_TRANSLATE_NOOP("Page", "The stages of the pipeline, and which microbatch each works on when."),
       of_plan<PipelinePage>},
      {"Comp&are",
       QT_TRANSLATE_NOOP("Page",
                         "Plans beside each other: those you pinned, all meshes of these devices, other machines."),
       with_pins<ComparePage>},
      {"Machi&ne",
       QT_TRANSLATE_NOOP("Page",
                         "The machine that plans are made for, and what each mesh axis moves over which of its links."),
       of_plan<MachinePage>},
      {"&Search",
       QT_TRANSLATE_NOOP("Page", "The strategies of this model: step time against memory, and which is best."),
       with_pins<SearchPage>},
  };
  return kinds;
}

QString name_of(const PageKind& kind) { return QString(kind.title).remove('&'); }

}  // namespace shardscope
