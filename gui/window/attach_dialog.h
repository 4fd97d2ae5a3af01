#pragma once

#include <QDialog>
#include <QLabel>
#include <QLineEdit>

namespace shardscope {

// Asks for the socket of a run; ends well only where somebody answers there, and says what is wrong otherwise.
class AttachDialog : public QDialog {
  Q_OBJECT
 public:
  AttachDialog(const QString& path, QWidget* parent);
  QString path() const { return path_->text().trimmed(); }
  void accept() override;

 private:
  void browse();
  void take_room();

  QLineEdit* path_;
  QLabel* fault_;
};

}  // namespace shardscope
