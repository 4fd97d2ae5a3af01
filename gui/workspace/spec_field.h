#pragma once

#include <QLineEdit>

#include "gui/document/spec_text.h"

namespace shardscope {

// A spec as a line of text, typed or pasted: P('data', None). What cannot be read is red, says why, and is not taken.
class SpecField : public QLineEdit {
  Q_OBJECT
 public:
  explicit SpecField(QWidget* parent = nullptr);

  // Nothing changes of what is being typed. An empty field says `hint`.
  void show_spec(const QString& text, const QString& hint = "P('data', None)");
  const QString& fault() const { return fault_; }
  void abandon();  // what was typed

 signals:
  void specTyped(const PartitionSpec& spec);  // by Enter, or when the keyboard leaves a legal text
  void judged();                              // fault() is that of the present text

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;

 private:
  void judge();
  void take();

  QString shown_, fault_;
};

}  // namespace shardscope
