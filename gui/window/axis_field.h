#pragma once

#include <QEnterEvent>
#include <QSpinBox>
#include <cstdlib>
#include <functional>
#include <optional>

namespace shardscope {

// The size of a mesh axis. Its arrows, keys and the wheel go from one legal size to the next, where these are known;
// any number can be typed.
class AxisField : public QSpinBox {
  Q_OBJECT
 public:
  using Next = std::function<std::optional<int64_t>(int64_t size, bool up)>;
  AxisField(Next next, QWidget* parent) : QSpinBox(parent), next_(std::move(next)) {}

  void stepBy(int steps) override {
    for (int i = 0; i < std::abs(steps); ++i) {
      const std::optional<int64_t> size = next_(value(), steps > 0);
      size ? setValue(static_cast<int>(*size)) : QSpinBox::stepBy(steps > 0 ? 1 : -1);
    }
    selectAll();
  }

 signals:
  void entered();  // by the pointer or the keyboard: its legal sizes may be asked for next

 protected:
  void enterEvent(QEnterEvent* event) override {
    QSpinBox::enterEvent(event);
    emit entered();
  }
  void focusInEvent(QFocusEvent* event) override {
    QSpinBox::focusInEvent(event);
    emit entered();
  }

 private:
  Next next_;
};

}  // namespace shardscope
