#pragma once

#include <QObject>
#include <functional>

namespace shardscope {

// Calls `doing` in an event-loop iteration of its own, unless `context` is gone by then. Calls are made in their order,
// with an iteration between each and the next, in which what followed from it is painted. Of the window's thread.
// (QTimer::singleShot(0) posts an event: it is done in the iteration that is long already.)
void in_later_iteration(QObject* context, std::function<void()> doing);

}  // namespace shardscope
