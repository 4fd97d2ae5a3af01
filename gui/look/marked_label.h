#pragma once

#include <QLabel>

namespace shardscope {

// The caption of a field, with a warning sign behind it where something is to be known of the field.
class MarkedLabel : public QLabel {
  Q_OBJECT
 public:
  explicit MarkedLabel(const QString& text, QWidget* parent = nullptr);

  // What the sign stands for, also for its tool tip; empty: no sign.
  void set_mark(const QString& why);
  bool is_marked() const { return !mark_.isEmpty(); }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  QString mark_;
};

}  // namespace shardscope
