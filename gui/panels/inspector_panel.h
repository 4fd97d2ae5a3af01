#pragma once

#include <QGridLayout>
#include <QLabel>
#include <QToolButton>
#include <QTreeWidget>
#include <QWidget>
#include <utility>
#include <vector>

#include "gui/look/path_label.h"
#include "gui/panels/spec_editor.h"
#include "gui/workspace/array_facts.h"
#include "gui/workspace/spec_field.h"

namespace shardscope {

// Everything about the selected arrays: spec (to edit), local shape, bytes, replicas, why it is sharded so and what
// that costs; then the selected device and the selected step. Of several arrays it says and edits what they have in
// common, and "mixed" where they differ.
class InspectorPanel : public QWidget {
  Q_OBJECT
 public:
  explicit InspectorPanel(Workspace& workspace, QWidget* parent = nullptr);

  SpecEditor* spec_editor() const { return spec_; }
  SpecField* spec_field() const { return typed_; }

 private:
  struct Section {
    QLabel* title = nullptr;
    QWidget* body = nullptr;
    QGridLayout* rows = nullptr;
    std::vector<std::pair<QLabel*, PathLabel*>> fields;  // name and value of each row
  };

  struct Row {
    QString name, value, tip;
  };

  QWidget* make_spec_line();
  Section make_section();
  void fill(Section& section, const QString& title, const std::vector<Row>& rows);
  void show_array();
  void show_spec_error();
  void show_spec(const std::vector<ArrayFacts>& arrays);
  void show_rows(const std::vector<ArrayFacts>& arrays);
  void show_costs(const ArrayFacts& facts);
  std::vector<ArrayFacts> selected() const;
  void show_device();
  void show_step();
  void show_all();

  Workspace& workspace_;
  std::vector<ArrayRef> shown_;
  PathLabel* title_;
  QLabel* subtitle_;
  SpecEditor* spec_;
  SpecField* typed_;
  QString spec_faults_;  // of the planner, of what is selected
  QToolButton *swap_, *layers_;
  QWidget* spec_line_;
  QLabel* spec_error_;
  Section array_, device_, step_;
  QLabel* costs_title_;
  QTreeWidget* costs_;
};

}  // namespace shardscope
