#pragma once

#include <QComboBox>
#include <QDialog>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>
#include <optional>
#include <vector>

#include "engine/export/export_kind.h"

namespace shardscope {

// What a person wants written, and where.
struct ExportWish {
  const ExportKind* kind = nullptr;
  ExportChoice choice;
  QString path;
  QSize size{1280, 800};  // of a picture, the least
  int scale = 2;          // of a PNG
  bool overwrite = false;
  bool is_named = false;  // by a person, in a file that is not written yet: offered again
};

// Chooses kind, page and place of an export. Kinds that need a measured run are grey without one. The name follows the
// kind until a person writes one, which `last` may have; a file that exists is asked about.
class ExportDialog : public QDialog {
  Q_OBJECT
 public:
  // `name`: of the file, without folder and suffix; `page`: the one that is seen; `more`: kinds beside export_kinds(),
  // which outlive the dialog; the first of them is offered first, and in place of a kind of the same suffix.
  ExportDialog(const QString& folder, const QString& name, const QString& page, bool has_run, const ExportWish& last,
               const std::vector<ExportKind>& more = {}, QWidget* parent = nullptr);

  ExportWish wish() const;

  void accept() override;

 private:
  const ExportKind& kind() const;
  void follow_kind();
  void follow_fields();
  void browse();
  QString suggested() const;

  std::vector<const ExportKind*> all_;
  QString folder_, name_, page_;
  QComboBox *kinds_, *pages_;
  QLabel* pages_label_;
  QWidget* picture_;
  QLabel* picture_label_;
  QSpinBox *width_, *height_, *scale_;
  QLineEdit* path_;
  QLabel* what_;
  QPushButton* export_;
  bool named_ = false;      // by the person
  bool overwrite_ = false;  // the path as it stands was agreed to
};

}  // namespace shardscope
