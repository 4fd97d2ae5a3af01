#pragma once

#include <QWidget>

#include "gui/window/session_keeper.h"

namespace shardscope {

// Offers what a program left unsaved, newest first: the document takes it as an edit that can be undone, or it is
// thrown away, or kept for later. True where the document took one.
bool offer_left_edits(SessionKeeper& keeper, Document& document, QWidget* parent);

}  // namespace shardscope
