#pragma once

#include <QObject>
#include <functional>

namespace shardscope {

// Does something in a turn of the event loop of its own, unless `context` is gone by then: what is asked for first is
// done first, each with a turn between it and the next, in which what followed from it is painted. Of the window's
// thread. (QTimer::singleShot(0) posts an event: it is done in the very turn that is long already.)
void in_later_turn(QObject* context, std::function<void()> doing);

}  // namespace shardscope
