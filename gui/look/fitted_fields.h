#pragma once

#include <QDoubleSpinBox>
#include <QLineEdit>

namespace shardscope {

// Fields that ask for the room that their present text takes, not for that of the longest one that they could hold.

// Whole numbers up to 2^53, which QSpinBox does not hold.
class WholeField : public QDoubleSpinBox {
  Q_OBJECT
 public:
  static constexpr double largest = 9007199254740992.0;

  explicit WholeField(QWidget* parent = nullptr);
  QSize sizeHint() const override { return minimumSizeHint(); }
  QSize minimumSizeHint() const override;
};

// A line of text: as wide as the text, or the placeholder of an empty one, up to `longest` letters. A longer text
// scrolls.
class FittedLine : public QLineEdit {
  Q_OBJECT
 public:
  static constexpr int longest = 18;

  explicit FittedLine(QWidget* parent = nullptr);
  QSize sizeHint() const override { return minimumSizeHint(); }
  QSize minimumSizeHint() const override;
};

}  // namespace shardscope
