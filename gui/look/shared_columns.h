#pragma once

#include <QObject>
#include <QTreeView>
#include <vector>

namespace shardscope {

// Parts of a room: each as wide as it wants to be where all have room, the first with what is left; else those that
// want less than an equal part have what they want, and the others share the rest equally.
//
// Example: of 100, (20, 70, 50) have (20, 40, 40).
std::vector<int> shared_widths(const std::vector<int>& wanted, int room);

// The columns of a tree share its width, however wide it is and whatever stands in it, until a person has given one a
// width by hand.
class SharedColumns : public QObject {
  Q_OBJECT
 public:
  explicit SharedColumns(QTreeView* tree);
  void share();  // after another content

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  QTreeView* tree_;
  bool sharing_ = false, by_hand_ = false;
};

}  // namespace shardscope
