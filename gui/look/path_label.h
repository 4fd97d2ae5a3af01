#pragma once

#include <QLabel>

namespace shardscope {

// Text with names, specs and places in it, which have no spaces: a line may end within them ("sharding." / "rules[0]").
// What is copied from it is the text as it was set.
class PathLabel : public QLabel {
  Q_OBJECT
 public:
  explicit PathLabel(QWidget* parent = nullptr);

  void set_path_text(const QString& text);

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;

 private:
  void copy() const;

  QString text_;
};

}  // namespace shardscope
