#include "gui/window/menus.h"

#include <QActionGroup>
#include <QApplication>
#include <QMessageBox>

#include "gui/document/edits.h"
#include "gui/window/presets.h"
#include "gui/window/recent_files.h"

namespace shardscope {
namespace {

QString tr(const char* text) { return QObject::tr(text); }

void add_file_menu(QMenuBar& bar, const Actions& actions, Files& files) {
  QMenu* menu = bar.addMenu(tr("&File"));
  menu->addAction(actions.open);
  auto* recent = new RecentFiles(menu->addMenu(tr("Open &recent")));
  QObject::connect(recent, &RecentFiles::chosen, &files, &Files::replace_by_file);
  QMenu* presets = menu->addMenu(tr("Open &preset"));
  for (const QString& name : preset_names())
    presets->addAction(name, &files, [&files, name] { files.replace_by_preset(name); });
  menu->addSeparator();
  menu->addActions({actions.save, actions.save_as});
  menu->addSeparator();
  menu->addActions({actions.export_as, actions.import_specs});
  menu->addSeparator();
  menu->addAction(actions.quit);
}

void add_theme_menu(QMenu& view) {
  QMenu* menu = view.addMenu(tr("Th&eme"));
  auto* group = new QActionGroup(menu);
  const std::pair<QString, ThemeChoice> choices[] = {
      {tr("&System"), ThemeChoice::system}, {tr("&Light"), ThemeChoice::light}, {tr("&Dark"), ThemeChoice::dark}};
  for (const auto& [text, choice] : choices) {
    QAction* made = menu->addAction(text);
    made->setCheckable(true);
    made->setChecked(choice == theme_choice());
    group->addAction(made);
    QObject::connect(made, &QAction::triggered, menu, [choice = choice] {
      apply_theme(*qApp, choice);
      remember_theme(choice);
    });
  }
}

void add_view_menu(QMenuBar& bar, Centre& centre, const Docks& docks) {
  QMenu* menu = bar.addMenu(tr("&View"));
  QTabWidget* pages = centre.pages();
  for (int i = 0; i < pages->count(); ++i)
    menu->addAction(pages->tabText(i), QKeySequence(QString("Ctrl+%1").arg(i + 1)), pages,
                    [pages, i] { pages->setCurrentIndex(i); });
  menu->addSeparator();
  for (QDockWidget* dock : docks.all()) menu->addAction(dock->toggleViewAction());
  menu->addSeparator();
  add_theme_menu(*menu);
}

void add_plan_menu(QMenuBar& bar, const Actions& actions, Document& document, Centre& centre, Docks& docks) {
  QMenu* menu = bar.addMenu(tr("&Plan"));
  menu->addAction(actions.mesh);
  menu->addAction(tr("Layout mode: &cheapest"), QKeySequence("Ctrl+Shift+1"), &document,
                  [&document] { set_mode(document, LayoutMode::cheapest); });
  menu->addAction(tr("Layout mode: as &written"), QKeySequence("Ctrl+Shift+2"), &document,
                  [&document] { set_mode(document, LayoutMode::as_written); });
  menu->addAction(tr("Compare &layout modes"), QKeySequence("Ctrl+Shift+L"), &centre,
                  [&centre] { centre.show_page("collectives"); });
  menu->addAction(tr("&Replay the selected collective"), QKeySequence("Ctrl+Shift+R"), &centre,
                  [&centre] { centre.replay_selected(); });
  menu->addSeparator();
  menu->addAction(tr("Show &problems"), QKeySequence("Ctrl+Shift+P"), &docks, [&docks] {
    docks.show(docks.problems());
    docks.problems()->list()->setFocus(Qt::ShortcutFocusReason);
  });
}

void show_about(QWidget* window) {
  QMessageBox::about(window, tr("About Shardscope"),
                     tr("<b>Shardscope</b><p>Design how a neural network is split over a device mesh, see what that "
                        "means, and train that very plan on MPI ranks.</p>"));
}

}  // namespace

void make_menus(QMenuBar& bar, const Actions& actions, Document& document, Files& files, Centre& centre, Docks& docks) {
  add_file_menu(bar, actions, files);
  QMenu* edit = bar.addMenu(tr("&Edit"));
  edit->addActions({actions.undo, actions.redo});
  edit->addSeparator();
  edit->addActions({actions.find, actions.copy, actions.copy_picture, actions.copy_layout});
  add_view_menu(bar, centre, docks);
  add_plan_menu(bar, actions, document, centre, docks);
  bar.addMenu(tr("&Run"))->addActions({actions.train, actions.stop});
  bar.addMenu(tr("&Help"))->addAction(tr("&About Shardscope"), &bar, [&bar] { show_about(bar.window()); });
}

}  // namespace shardscope
