#pragma once

#include <QAction>
#include <QUndoStack>
#include <QWidget>

namespace shardscope {

// Of texts outside of QObjects.
inline QString tr(const char* text) { return QObject::tr(text); }

// What a person can do by menu, tool bar or key, by name. Who does it connects to `triggered`. The actions belong to
// `window`; their icons follow the theme.
struct Actions {
  Actions(QWidget& window, QUndoStack& edits);

  QAction *const new_run, *const open, *const save, *const save_as, *const reload, *const quit;
  QAction *const export_as, *const import_specs;
  QAction *const copy_picture, *const copy_layout;
  QAction *const undo, *const redo, *const find, *const copy;
  QAction *const mesh, *const train, *const pause, *const stop, *const attach, *const detach;
  QAction *const palette, *const shortcuts, *const pin, *const sweep, *const search;
  QAction *const next_problem, *const previous_problem;
  QAction *const help, *const tour, *const about, *const bottom;
};

}  // namespace shardscope
