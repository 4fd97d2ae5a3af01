#pragma once

#include <QMenuBar>

#include "gui/document/document.h"
#include "gui/look/appearance.h"
#include "gui/window/actions.h"
#include "gui/window/centre.h"
#include "gui/window/docks.h"
#include "gui/window/files.h"

namespace shardscope {

// Fills the menu bar. The menus act on what they are given.
void make_menus(QMenuBar& bar, const Actions& actions, Document& document, Files& files, Centre& centre, Docks& docks);

}  // namespace shardscope
