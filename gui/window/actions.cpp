#include "gui/window/actions.h"

#include "gui/look/appearance.h"

namespace shardscope {
namespace {

struct Words {
  QString name, text, icon, tip;
};

QAction* finish(QAction* made, const QString& name, const QString& icon, QWidget& window) {
  made->setObjectName(name);
  if (!icon.isEmpty()) {
    made->setIcon(themed_icon(icon));
    QObject::connect(&look(), &Look::changed, made, [made, icon] { made->setIcon(themed_icon(icon)); });
  }
  window.addAction(made);
  return made;
}

QAction* make(QWidget& window, const Words& words, const QKeySequence& key) {
  auto* made = new QAction(words.text, &window);
  made->setShortcut(key);
  made->setToolTip(key.isEmpty() ? words.tip
                                 : QString("%1 (%2)").arg(words.tip, key.toString(QKeySequence::NativeText)));
  return finish(made, words.name, words.icon, window);
}

QAction* make_undo(QWidget& window, QUndoStack& edits) {
  QAction* made = edits.createUndoAction(&window, QObject::tr("Undo"));
  made->setShortcut(QKeySequence::Undo);
  return finish(made, "undo", "undo", window);
}

QAction* make_redo(QWidget& window, QUndoStack& edits) {
  QAction* made = edits.createRedoAction(&window, QObject::tr("Redo"));
  made->setShortcuts({QKeySequence("Ctrl+Shift+Z"), QKeySequence("Ctrl+Y")});
  return finish(made, "redo", "redo", window);
}

}  // namespace

Actions::Actions(QWidget& window, QUndoStack& edits)
    : new_run(make(window, {"new", tr("&New\u2026"), "", tr("Begin a run file from a model")}, QKeySequence::New)),
      open(make(window, {"open", tr("&Open\u2026"), "open", tr("Open a run file")}, QKeySequence::Open)),
      save(make(window, {"save", tr("&Save"), "save", tr("Save the run file")}, QKeySequence::Save)),
      save_as(make(window, {"saveAs", tr("Save &as\u2026"), "", tr("Save under another name")},
                   QKeySequence("Ctrl+Shift+S"))),
      reload(make(window, {"reload", tr("Re&load"), "", tr("Take what is on disk, as one edit that can be undone")},
                  QKeySequence("Ctrl+R"))),
      quit(make(window, {"quit", tr("&Quit"), "", tr("Close the window")}, QKeySequence::Quit)),
      export_as(make(
          window, {"export", tr("&Export\u2026"), "", tr("Write a picture, a table, a trace or a program of the plan")},
          QKeySequence("Ctrl+E"))),
      import_specs(make(window,
                        {"importSpecs", tr("&Import specs\u2026"), "", tr("Lay arrays out as a JSON of specs says")},
                        QKeySequence("Ctrl+Shift+I"))),
      copy_picture(make(window,
                        {"copyPicture", tr("Copy &picture"), "", tr("Copy the page as a picture, as Export draws it")},
                        QKeySequence("Ctrl+Alt+C"))),
      copy_layout(
          make(window,
               {"copyLayout", tr("Copy la&yout as text"), "", tr("Copy the selected array's layout as JAX prints it")},
               QKeySequence("Ctrl+Alt+L"))),
      undo(make_undo(window, edits)),
      redo(make_redo(window, edits)),
      find(make(window, {"find", tr("&Find parameter"), "", tr("Filter the parameter tree")}, QKeySequence::Find)),
      copy(make(window, {"copyPlan", tr("Copy plan as &text"), "", tr("Copy the verdict and the run file")},
                QKeySequence("Ctrl+Shift+C"))),
      mesh(make(window, {"meshAxes", tr("&Mesh axes\u2026"), "mesh", tr("Add, remove, rename or order mesh axes")},
                QKeySequence("Ctrl+M"))),
      train(make(window, {"train", tr("&Train"), "train", tr("Train this plan on one rank per device")},
                 QKeySequence("F5"))),
      pause(make(window, {"pause", tr("&Pause"), "", tr("Pause the run, or let it go on")}, QKeySequence("F6"))),
      stop(make(window, {"stop", tr("&Stop"), "stop", tr("Stop after the current step; again: at once")},
                QKeySequence("Shift+F5"))),
      attach(make(window,
                  {"attachSocket", tr("&Attach to a socket\u2026"), "",
                   tr("Watch a run that was started elsewhere: shardrun train --socket, also by way of ssh -L")},
                  QKeySequence("Ctrl+F5"))),
      detach(make(window, {"detach", tr("&Detach"), "", tr("Let the run go on without this window")},
                  QKeySequence("Ctrl+Shift+F5"))),
      palette(
          make(window,
               {"palette", tr("C&ommand palette\u2026"), "", tr("Everything that can be done, by some letters of it")},
               QKeySequence("Ctrl+Shift+P"))),
      shortcuts(make(window, {"shortcuts", tr("&Keyboard shortcuts"), "", tr("All keys")}, QKeySequence("Ctrl+F1"))),
      pin(make(window, {"pin", tr("P&in this plan"), "", tr("Keep the shown plan to compare it with others")},
               QKeySequence("Ctrl+P"))),
      sweep(make(window,
                 {"sweep", tr("Plan &all meshes"), "", tr("Plan every way to lay the devices out over the axes")},
                 QKeySequence("Ctrl+Shift+A"))),
      search(make(window, {"search", tr("&Search strategies"), "", tr("Find the best strategies of this model")},
                  QKeySequence("Ctrl+Shift+F"))),
      next_problem(make(window,
                        {"nextProblem", tr("&Next problem"), "", tr("Go to the field of the next problem or finding")},
                        QKeySequence("F8"))),
      previous_problem(make(window,
                            {"previousProblem", tr("Pre&vious problem"), "", tr("Go to the field of the one before")},
                            QKeySequence("Shift+F8"))),
      help(make(window, {"help", tr("&Help"), "", tr("The chapter of the guide about what has the keyboard")},
                QKeySequence("F1"))),
      tour(make(window, {"tour", tr("&Tour of the window"), "", tr("A minute through the window")},
                QKeySequence("Shift+F1"))),
      about(make(window, {"about", tr("&About Shardscope"), "", tr("What this is, and of which versions")}, {})),
      bottom(make(window, {"bottomPanel", tr("&Bottom panel"), "", tr("Opens or collapses Run, Problems and Rules")},
                  QKeySequence("Ctrl+J"))) {}

}  // namespace shardscope
