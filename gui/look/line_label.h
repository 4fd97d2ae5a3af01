#pragma once

#include <QLabel>

namespace shardscope {

// One line of plain text, with an ellipsis where there is no room for all of it. Its tool tip has the whole text.
class LineLabel : public QLabel {
  Q_OBJECT
 public:
  explicit LineLabel(QWidget* parent = nullptr);

  void set_line(const QString& text);

 protected:
  void paintEvent(QPaintEvent* event) override;
};

}  // namespace shardscope
