#pragma once

#include <QLabel>
#include <QPushButton>
#include <QWidget>

#include "gui/workspace/array_facts.h"
#include "gui/workspace/spec_field.h"

namespace shardscope {

// The layout of an activation as a person wants it, "P('data', None)": a line of sharding.constraints in the run file.
// Without one the field shows, pale, how the plan lays it out.
class LayoutConstraint : public QWidget {
  Q_OBJECT
 public:
  explicit LayoutConstraint(Workspace& workspace, QWidget* parent = nullptr);

  // Hidden for what is no activation.
  void show_array(const std::optional<ArrayFacts>& facts);
  SpecField* field() const { return field_; }

 private:
  Workspace& workspace_;
  std::string name_;
  QLabel* title_;
  SpecField* field_;
  QPushButton* remove_;
};

}  // namespace shardscope
