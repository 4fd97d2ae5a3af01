#include "gui/window/menus.h"

#include <QActionGroup>
#include <QApplication>
#include <QFileDialog>

#include "engine/machine/host_machine.h"
#include "engine/machine/machine_library.h"
#include "gui/document/edits.h"
#include "gui/document/text.h"
#include "gui/window/page_list.h"
#include "gui/window/presets.h"
#include "gui/window/recent_files.h"

namespace shardscope {
namespace {

void add_file_menu(QMenuBar& bar, const Actions& actions, Files& files) {
  QMenu* menu = bar.addMenu(tr("&File"));
  menu->addAction(actions.new_run);
  QAction* model = menu->addAction(tr("New from &model\u2026"), &files, &Files::choose_model);
  model->setObjectName("newFromModel");
  model->setToolTip(tr("Begin a run file from a folder with a model of Hugging Face"));
  menu->addAction(actions.open);
  auto* recent = new RecentFiles(menu->addMenu(tr("Open &recent")));
  QObject::connect(recent, &RecentFiles::chosen, &files, &Files::replace_by_file);
  QMenu* presets = menu->addMenu(tr("Open &preset"));
  for (const QString& name : preset_names())
    presets->addAction(name, &files, [&files, name] { files.replace_by_preset(name); });
  QMenu* published = menu->addMenu(tr("Open pu&blished model"));
  for (const QString& name : published_preset_names())
    published->addAction(QFileInfo(name).fileName(), &files, [&files, name] { files.replace_by_preset(name); });
  menu->addSeparator();
  menu->addActions({actions.save, actions.save_as, actions.reload});
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

void add_edit_menu(QMenuBar& bar, const Actions& actions, SpecActions& specs) {
  QMenu* menu = bar.addMenu(tr("&Edit"));
  menu->addActions({actions.undo, actions.redo});
  menu->addSeparator();
  menu->addActions({actions.find, actions.copy, actions.copy_picture, actions.copy_layout});
  QMenu* selected = menu->addMenu(tr("Specs of &selected arrays"));
  selected->addActions(specs.all());
}

void add_view_menu(QMenuBar& bar, const Actions& actions, Centre& centre, const Docks& docks) {
  QMenu* menu = bar.addMenu(tr("&View"));
  menu->addAction(actions.palette);
  menu->addSeparator();
  int number = 0;
  for (const PageKind& kind : page_kinds())
    menu->addAction(tr(kind.title), QKeySequence(QString("Ctrl+%1").arg(++number)), &centre,
                    [&centre, name = name_of(kind)] { centre.enter_page(name); });
  menu->addSeparator();
  for (QDockWidget* dock : docks.all()) menu->addAction(dock->toggleViewAction());
  menu->addAction(actions.bottom);
  menu->addSeparator();
  add_theme_menu(*menu);
}

// The machine that plans are made for; the one that is chosen is ticked.
void add_machine_menu(QMenu& plan, Document& document) {
  QMenu* menu = plan.addMenu(tr("Mac&hine"));
  auto* group = new QActionGroup(menu);
  const auto add = [&](const QString& text, const QString& name) {
    QAction* made = menu->addAction(text, &document, [&document, name] { choose_machine(document, name); });
    made->setCheckable(true);
    made->setData(name);
    group->addAction(made);
  };
  add(tr("This &host"), qt(std::string(host_name)));
  for (std::string_view name : library_names()) add(qt(std::string(name)), qt(std::string(name)));
  menu->addSeparator();
  menu->addAction(tr("From a &file\u2026"), &document, [&document, menu] {
    const QString path = QFileDialog::getOpenFileName(menu, tr("A machine's file"), {}, tr("Machines (*.json)"));
    if (!path.isEmpty()) choose_machine(document, path);
  });
  const auto tick = [group, &document] {
    for (QAction* action : group->actions())
      action->setChecked(machine_choice(action->data().toString().toStdString()) == document.config().machine);
  };
  QObject::connect(menu, &QMenu::aboutToShow, menu, tick);
}

void add_plan_menu(QMenuBar& bar, const Actions& actions, Document& document, Centre& centre, Docks& docks) {
  QMenu* menu = bar.addMenu(tr("&Plan"));
  menu->addAction(actions.mesh);
  QAction* strategy =
      menu->addAction(tr("A s&trategy instead of the mesh"), &document, [&document] { begin_strategy(document); });
  strategy->setObjectName("beginStrategy");
  const auto offer = [strategy, &document] { strategy->setEnabled(!document.config().strategy); };
  QObject::connect(&document, &Document::configChanged, strategy, offer);
  offer();
  add_machine_menu(*menu, document);
  menu->addAction(tr("Layout mode: &fastest"), QKeySequence("Ctrl+Shift+1"), &document,
                  [&document] { set_mode(document, LayoutMode::fastest); });
  menu->addAction(tr("Layout mode: as &written"), QKeySequence("Ctrl+Shift+2"), &document,
                  [&document] { set_mode(document, LayoutMode::as_written); });
  menu->addAction(tr("Compare &layout modes"), QKeySequence("Ctrl+Shift+L"), &centre,
                  [&centre] { centre.enter_page("collectives"); });
  menu->addAction(tr("&Replay the selected collective"), QKeySequence("Ctrl+Shift+R"), &centre,
                  [&centre] { centre.replay_selected(); });
  menu->addSeparator();
  menu->addActions({actions.pin, actions.sweep, actions.search});
  menu->addSeparator();
  menu->addAction(tr("Show &problems"), QKeySequence("Ctrl+Shift+M"), &docks, [&docks] {
    docks.show(docks.problems());
    docks.problems()->list()->setFocus(Qt::ShortcutFocusReason);
  });
  menu->addActions({actions.next_problem, actions.previous_problem});
}

}  // namespace

void make_menus(QMenuBar& bar, const Actions& actions, Document& document, Files& files, Centre& centre, Docks& docks) {
  add_file_menu(bar, actions, files);
  add_edit_menu(bar, actions, *docks.parameters()->spec_actions());
  add_view_menu(bar, actions, centre, docks);
  add_plan_menu(bar, actions, document, centre, docks);
  bar.addMenu(tr("&Run"))->addActions({actions.train, actions.pause, actions.stop, actions.attach, actions.detach});
  QMenu* help = bar.addMenu(tr("&Help"));
  help->addActions({actions.help, actions.tour, actions.shortcuts});
  help->addSeparator();
  help->addAction(actions.about);
}

}  // namespace shardscope
