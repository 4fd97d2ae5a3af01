#pragma once

#include <QComboBox>
#include <QDialog>
#include <QLabel>
#include <QListWidget>
#include <QSpinBox>

#include "engine/config/run_config.h"

namespace shardscope {

// File > New: which model, optimizer and how many devices a new run file begins with. The rest is edited in the window.
class NewRunDialog : public QDialog {
  Q_OBJECT
 public:
  explicit NewRunDialog(QWidget* parent = nullptr);

  RunConfig config() const;
  QString model() const;

 private:
  void describe();

  QListWidget* models_;
  QComboBox* optimizer_;
  QSpinBox* devices_;
  QLabel* about_;
};

}  // namespace shardscope
