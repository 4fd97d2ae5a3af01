#pragma once

#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QSpinBox>
#include <QVBoxLayout>
#include <QWidget>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gui/look/marked_label.h"
#include "gui/workspace/workspace.h"

namespace shardscope {

// The run file's strategy as fields: data, fsdp, tensor, context, expert and pipeline, whose product is the number of
// devices, and what goes with them: a schedule that a pipeline cannot have is grey and says why. Each edit is one step
// of undo; a number that is wrong has a red frame and says why and what is near, and one that lint finds something
// about is marked. "Write out" puts the mesh, sharding, pipeline and schedule in the strategy's place. Hidden where the
// run file has none.
class StrategyBar : public QWidget {
  Q_OBJECT
 public:
  explicit StrategyBar(Workspace& workspace, QWidget* parent = nullptr);

  QSpinBox* field(const std::string& key) const;  // null: none of that name
  // Gives the keyboard to the field of a place of the run file; false where it is not of the strategy.
  bool focus_place(const QString& place);
  // In two rows where these are not wider than that, else in more.
  void fit_to(int width);

 signals:
  void presenceChanged(bool has_strategy);

 protected:
  bool event(QEvent* event) override;

 private:
  struct Part {
    std::vector<QWidget*> widgets;  // that stay beside each other
    bool begins_row = false;
  };
  struct Field {
    std::string key;
    MarkedLabel* label;
    QWidget* field;
    QString tip;
  };

  void add_field(const std::string& key, const QString& caption, const QString& tip, QWidget* field);
  void add_number(const std::string& key, const QString& caption, const QString& tip,
                  std::function<int64_t&(StrategyConfig&)> value);
  void edit(const std::function<void(StrategyConfig&)>& change, const QString& key);
  void show_config();
  void show_recompute(const QString& policy);
  void show_schedules(const StrategyConfig& strategy);
  void show_orders(const StrategyConfig& strategy);
  void show_errors();

  Workspace& workspace_;
  std::vector<Field> fields_;
  std::vector<std::pair<QSpinBox*, std::function<int64_t&(StrategyConfig&)>>> numbers_;
  QComboBox *schedule_, *order_;
  QCheckBox* sequence_;
  QComboBox* recompute_;
  QLabel* total_;
  QPushButton* write_out_;
  QVBoxLayout* rows_;
  std::vector<Part> parts_;
  std::vector<std::vector<QWidget*>> shown_rows_;
  int width_ = 0;
};

}  // namespace shardscope
