#pragma once

#include <QLabel>

namespace shardscope {

// What stands in place of a view that has nothing to show, and says how it gets something.
class EmptyNote : public QLabel {
  Q_OBJECT
 public:
  explicit EmptyNote(QWidget* parent = nullptr);
};

}  // namespace shardscope
