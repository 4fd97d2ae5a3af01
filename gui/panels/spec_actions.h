#pragma once

#include <QAction>
#include <QMenu>
#include <functional>

#include "gui/panels/spec_targets.h"

namespace shardscope {

// What can be done with the specs of some arrays at once, as actions of a view: copied, pasted, two dimensions swapped,
// the same in all layers, a rule for them. Their keys work while the view has the keyboard.
class SpecActions : public QObject {
  Q_OBJECT
 public:
  // `arrays`: what the view has chosen, when it is asked.
  SpecActions(Workspace& workspace, QWidget& view, std::function<std::vector<ArrayRef>()> arrays);

  const QList<QAction*>& all() const { return all_; }
  QAction* swap() const { return swap_; }
  // Greys what the chosen arrays do not allow: whenever others are chosen.
  void refresh();

 signals:
  void ruleAdded(const QString& place);  // in the run file

 private:
  QAction* add(const QString& name, const QString& text, const QString& tip, const QKeySequence& key,
               void (SpecActions::*act)());
  size_t rank_of(const ArrayRef& array) const;
  std::vector<ArrayFacts> targets() const { return spec_targets(workspace_, arrays_()); }
  void copy();
  void paste();
  void swap_first();
  void fill_swaps();
  void apply_to_all_layers();
  void add_rule_for_them();

  Workspace& workspace_;
  QWidget& view_;
  std::function<std::vector<ArrayRef>()> arrays_;
  QList<QAction*> all_;
  QMenu swaps_;
  QAction *copy_, *paste_, *swap_, *all_layers_, *rule_;
};

}  // namespace shardscope
