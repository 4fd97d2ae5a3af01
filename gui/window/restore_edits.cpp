#include "gui/window/restore_edits.h"

#include <QLocale>
#include <QMessageBox>
#include <QPushButton>

namespace shardscope {

bool offer_left_edits(SessionKeeper& keeper, Document& document, QWidget* parent) {
  for (const SessionKeeper::Left& left : keeper.take_left()) {
    QMessageBox box(QMessageBox::Question, SessionKeeper::tr("Unsaved edits"),
                    SessionKeeper::tr("%1 has unsaved edits of %2, when the program ended without saving them.")
                        .arg(left.edits.title, QLocale().toString(left.edits.when, QLocale::ShortFormat)),
                    QMessageBox::NoButton, parent);
    const QPushButton* restore = box.addButton(SessionKeeper::tr("&Restore"), QMessageBox::AcceptRole);
    const QPushButton* discard = box.addButton(SessionKeeper::tr("&Throw away"), QMessageBox::DestructiveRole);
    box.addButton(SessionKeeper::tr("&Later"), QMessageBox::RejectRole);
    box.exec();
    if (box.clickedButton() == discard) SessionKeeper::forget(left);
    if (box.clickedButton() != restore) continue;
    document.reset(left.edits.before, left.edits.path, left.edits.title);
    document.edit(left.edits.after, SessionKeeper::tr("restored edits"));
    if (keeper.keep_now()) SessionKeeper::forget(left);
    return true;
  }
  return false;
}

}  // namespace shardscope
