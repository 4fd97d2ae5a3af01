#pragma once

#include <QLabel>

namespace shardscope {

// The line at the foot of a view that says how far it is, or what is wrong with it.
class FooterNote : public QLabel {
  Q_OBJECT
 public:
  explicit FooterNote(QWidget* parent = nullptr);

  // In the colour of warnings where what is shown is out of date.
  void set_out_of_date(bool is_old);
};

}  // namespace shardscope
