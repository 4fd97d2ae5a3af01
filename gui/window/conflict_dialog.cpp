#include "gui/window/conflict_dialog.h"

#include <QFileInfo>
#include <QHeaderView>
#include <QLabel>
#include <QMessageBox>
#include <QPushButton>
#include <QVBoxLayout>
#include <algorithm>
#include <set>

#include "engine/base/error.h"
#include "engine/config/write.h"
#include "gui/document/config_difference.h"
#include "gui/look/appearance.h"
#include "gui/look/filled_layout.h"

namespace shardscope {
namespace {

constexpr size_t most_rows = 500;

QString bold_title(const Document& document) { return QString("<b>%1</b>").arg(document.title().toHtmlEscaped()); }

std::vector<SettingDifference> differences_of(const Document& document, const StoredFile& stored) {
  if (stored.state != FileState::unreadable) return differences(stored.config, document.config());
  try {
    return line_differences(stored.text, write_run_config(document.config()));
  } catch (const Failure&) {
    return {};
  }
}

// Where settings were changed since the file was read.
class Origins {
 public:
  Origins(const Document& document, const StoredFile& stored) {
    const KnownFile& known = document.known_file();
    if (!known.config || stored.state == FileState::unreadable) return;
    for (const SettingDifference& each : differences(*known.config, stored.config)) there_.insert(each.setting);
    for (const SettingDifference& each : differences(*known.config, document.config())) here_.insert(each.setting);
  }

  QString text(const QString& setting) const {
    const bool there = there_.contains(setting), here = here_.contains(setting);
    if (there && here) return ConflictDialog::tr("on both sides");
    return there ? ConflictDialog::tr("on disk") : here ? ConflictDialog::tr("here") : QString();
  }

 private:
  std::set<QString> there_, here_;
};

ConflictChoice ask_about_missing(const Document& document, QWidget* parent) {
  QMessageBox box(
      QMessageBox::Question, ConflictDialog::tr("Run file is gone"),
      ConflictDialog::tr("%1 is no longer on disk: somebody has removed or renamed it.").arg(bold_title(document)),
      QMessageBox::NoButton, parent);
  box.setObjectName("missingFile");
  box.setInformativeText(ConflictDialog::tr("Save writes it anew at %1.").arg(document.path().toHtmlEscaped()));
  const QPushButton* save = box.addButton(QMessageBox::Save);
  const QPushButton* save_as = box.addButton(ConflictDialog::tr("Save &as\u2026"), QMessageBox::AcceptRole);
  box.addButton(QMessageBox::Cancel);
  box.exec();
  if (box.clickedButton() == save) return ConflictChoice::overwrite;
  return box.clickedButton() == save_as ? ConflictChoice::save_as : ConflictChoice::cancel;
}

}  // namespace

ConflictDialog::ConflictDialog(const Document& document, const StoredFile& stored, QWidget* parent)
    : QDialog(parent), difference_(new QTreeWidget(this)), buttons_(new QDialogButtonBox(this)) {
  setObjectName("conflictDialog");
  setWindowTitle(tr("Run file changed on disk"));
  const bool is_readable = stored.state != FileState::unreadable;
  QString text = tr("%1 was changed on disk after it was read here.").arg(bold_title(document));
  if (!is_readable)
    text = tr("%1 was changed on disk, and is no run file any more: %2")
               .arg(bold_title(document), stored.fault.toHtmlEscaped());
  auto* words = new QLabel(text, this);
  words->setWordWrap(true);
  words->setObjectName("conflict");
  auto* meaning = new QLabel(
      tr("Reload takes what is on disk; Undo brings your edits back. Overwrite loses what is on disk."), this);
  meaning->setWordWrap(true);
  meaning->setProperty("muted", true);
  list(document, stored);
  filled(new QVBoxLayout(this), {words, {difference_, 1}, meaning, buttons_});
  if (is_readable)
    add_button(tr("&Reload"), "reloadFile", tr("Takes what is on disk, as one edit that can be undone."),
               ConflictChoice::reload);
  add_button(tr("&Overwrite"), "overwriteFile", tr("Writes what is in the window; what is on disk is lost."),
             ConflictChoice::overwrite);
  add_button(tr("Save &as\u2026"), "saveFileAs", tr("Writes what is in the window to another file."),
             ConflictChoice::save_as);
  auto* cancel = buttons_->addButton(QDialogButtonBox::Cancel);
  cancel->setDefault(true);
  cancel->setFocus();
  connect(buttons_, &QDialogButtonBox::rejected, this, &QDialog::reject);
  resize(720, 360);
}

void ConflictDialog::add_button(const QString& text, const QString& name, const QString& tip, ConflictChoice choice) {
  auto* button = new QPushButton(text, this);
  button->setObjectName(name);
  button->setToolTip(tip);
  button->setAutoDefault(false);
  buttons_->addButton(button, QDialogButtonBox::ActionRole);
  connect(button, &QPushButton::clicked, this, [this, choice] {
    choice_ = choice;
    accept();
  });
}

void ConflictDialog::list(const Document& document, const StoredFile& stored) {
  difference_->setObjectName("difference");
  difference_->setAccessibleName(tr("What differs"));
  difference_->setHeaderLabels({tr("Setting"), tr("On disk"), tr("In the window"), tr("Changed")});
  difference_->setRootIsDecorated(false);
  difference_->setUniformRowHeights(true);
  difference_->setAlternatingRowColors(true);
  difference_->setSelectionMode(QAbstractItemView::NoSelection);
  const std::vector<SettingDifference> all = differences_of(document, stored);
  const Origins origins(document, stored);
  for (size_t i = 0; i < std::min(all.size(), most_rows); ++i) {
    const auto shown = [](const QString& value) { return value.isEmpty() ? QString("\u2013") : value.left(1000); };
    auto* row = new QTreeWidgetItem(
        difference_, {all[i].setting, shown(all[i].before), shown(all[i].after), origins.text(all[i].setting)});
    for (int column = 0; column < 3; ++column) row->setToolTip(column, row->text(column));
    for (int column = 1; column < 3; ++column) row->setFont(column, monospace_font());
  }
  if (all.empty()) new QTreeWidgetItem(difference_, {tr("No setting differs.")});
  if (all.size() > most_rows) new QTreeWidgetItem(difference_, {tr("and %1 more").arg(all.size() - most_rows)});
  difference_->header()->setStretchLastSection(false);
  for (const int column : {0, 3}) difference_->header()->setSectionResizeMode(column, QHeaderView::ResizeToContents);
  for (int column = 1; column < 3; ++column) difference_->header()->setSectionResizeMode(column, QHeaderView::Stretch);
}

ConflictChoice ask_about_conflict(const Document& document, const StoredFile& stored, QWidget* parent) {
  if (stored.state == FileState::missing) return ask_about_missing(document, parent);
  ConflictDialog dialog(document, stored, parent);
  dialog.exec();
  return dialog.choice();
}

}  // namespace shardscope
