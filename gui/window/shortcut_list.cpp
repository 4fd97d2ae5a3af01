#include "gui/window/shortcut_list.h"

#include <QDialogButtonBox>
#include <QHeaderView>
#include <QVBoxLayout>

#include "gui/look/filled_layout.h"
#include "gui/look/key_help.h"
#include "gui/window/commands.h"

namespace shardscope {

ShortcutList::ShortcutList(QMainWindow& window)
    : QDialog(&window), line_(new QLineEdit(this)), tree_(new QTreeWidget(this)) {
  setWindowTitle(tr("Keyboard shortcuts"));
  resize(520, 560);
  line_->setPlaceholderText(tr("Filter by key or meaning"));
  line_->setAccessibleName(tr("Filter by key or meaning"));
  line_->setClearButtonEnabled(true);
  tree_->setObjectName("shortcuts");
  tree_->setAccessibleName(tr("Keyboard shortcuts"));
  tree_->setHeaderLabels({tr("What it does"), tr("Keys")});
  tree_->setUniformRowHeights(true);
  tree_->header()->setStretchLastSection(false);
  tree_->header()->setSectionResizeMode(0, QHeaderView::Stretch);
  tree_->header()->setSectionResizeMode(1, QHeaderView::ResizeToContents);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
  filled(new QVBoxLayout(this), {line_, {tree_, 1}, buttons});
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  connect(line_, &QLineEdit::textChanged, this, &ShortcutList::filter);
  for (const Command& command : commands_of(window))
    if (!command.keys.isEmpty()) add(command.where, command.keys, command.text);
  for (const KeyHelpGroup& group : key_help_of(window))
    for (const KeyHelp& key : group.keys) add(group.title, key.keys, key.meaning);
  tree_->expandAll();
}

void ShortcutList::add(const QString& group, const QString& keys, const QString& meaning) {
  const QList<QTreeWidgetItem*> found = tree_->findItems(group, Qt::MatchExactly);
  auto* parent = found.isEmpty() ? new QTreeWidgetItem(tree_, {group}) : found.front();
  new QTreeWidgetItem(parent, {meaning, keys});
}

void ShortcutList::filter(const QString& text) {
  for (int i = 0; i < tree_->topLevelItemCount(); ++i) {
    QTreeWidgetItem* group = tree_->topLevelItem(i);
    bool any = false;
    for (int j = 0; j < group->childCount(); ++j) {
      QTreeWidgetItem* entry = group->child(j);
      const bool fits =
          entry->text(0).contains(text, Qt::CaseInsensitive) || entry->text(1).contains(text, Qt::CaseInsensitive);
      entry->setHidden(!fits);
      any |= fits;
    }
    group->setHidden(!any);
  }
}

}  // namespace shardscope
