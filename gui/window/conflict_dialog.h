#pragma once

#include <QDialog>
#include <QDialogButtonBox>
#include <QTreeWidget>

#include "gui/document/document.h"

namespace shardscope {

enum class ConflictChoice : uint8_t { cancel, reload, overwrite, save_as };

// Asks what is to become of a run file that was changed on the disk, and shows what it says there and in the window.
class ConflictDialog : public QDialog {
  Q_OBJECT
 public:
  // `stored`: what is on the disk, changed or unreadable.
  ConflictDialog(const Document& document, const StoredFile& stored, QWidget* parent);

  ConflictChoice choice() const { return choice_; }

 private:
  void list(const Document& document, const StoredFile& stored);
  void add_button(const QString& text, const QString& name, const QString& tip, ConflictChoice choice);

  QTreeWidget* difference_;
  QDialogButtonBox* buttons_;
  ConflictChoice choice_ = ConflictChoice::cancel;
};

// The same of any state but `same`: of a file that is missing, whether it is to be written anew.
ConflictChoice ask_about_conflict(const Document& document, const StoredFile& stored, QWidget* parent);

}  // namespace shardscope
