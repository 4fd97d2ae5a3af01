#pragma once

#include <QAbstractItemModel>
#include <QIcon>
#include <QStringList>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "gui/workspace/array_facts.h"

namespace shardscope {

// The arrays that have a spec, as a tree of path segments: the model's input and output, then its parameters, with
// their optimizer state below them on demand. Specs are the config's (the newest), bytes those of the last good plan.
// A spec that lint finds something about is marked, and so are the groups above it. An edit costs what it changes: rows
// are added and removed by difference, and what stands in a row is looked up when it is shown; of the rows shown last
// those that changed are announced.
class ParameterModel : public QAbstractItemModel {
  Q_OBJECT
 public:
  enum Column {
    name_column,
    shape_column,
    spec_column,
    device_bytes_column,
    total_bytes_column,
    dtype_column,
    columns
  };
  enum Role { array_role = Qt::UserRole };

  explicit ParameterModel(Workspace& workspace, QObject* parent = nullptr);

  void set_shows_state(bool shows);
  // Shows only arrays whose name contains the text, upper or lower case alike.
  void set_filter(const QString& text);
  int count() const { return count_; }  // rows at all levels
  QModelIndex index_of(const ArrayRef& array) const;
  // The array of a row, or all arrays with a spec of their own below a group.
  std::vector<ArrayRef> arrays_of(const QModelIndex& index) const;

  QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
  QModelIndex parent(const QModelIndex& child) const override;
  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  Qt::ItemFlags flags(const QModelIndex& index) const override;

 private:
  // What stands in a row.
  struct Row {
    ArrayFacts facts;
    int64_t total_bytes = 0, device_bytes = 0;
    QString errors, findings;
    bool operator==(const Row&) const = default;
  };
  // Small, since a deep model has ten thousand: its words are made when they are shown.
  struct Node {
    enum class Kind : uint8_t { group, input, output, parameter, state };
    Kind kind = Kind::group;
    const ParameterInfo* parameter = nullptr;  // in arrays_; of a group one below it
    int part = 0;                              // of the parameter's path; of a state in state_names_
    Node* parent = nullptr;
    int row = 0;
    std::vector<std::unique_ptr<Node>> children;
    std::unique_ptr<Row> shown;
    bool is_array() const { return kind != Kind::group; }
    bool has_spec() const { return is_array() && kind != Kind::state; }
  };

  void refresh();
  void take_config();
  void rebuild();
  bool has_same_arrays() const;
  std::unique_ptr<Node> build();
  Node* add(Node& parent, Node::Kind kind, const ParameterInfo* parameter, int part);
  int state_number(const std::string& name);
  static bool is_same(const Node& a, const Node& b);
  void merge(Node& mine, Node& fresh);
  ArrayRef array_of(const Node& node) const;  // none: a group
  QString segment_of(const Node& node) const;
  void forget_shown();
  void announce_changes();
  void take_findings();
  std::string mark_key(const Node& node) const;
  Row look_up(const Node& node) const;
  std::pair<int64_t, int64_t> bytes_of(const Node& group) const;  // in all, on a device
  const Row& shown(const QModelIndex& index) const;
  Node& node_of(const QModelIndex& index) const;
  QModelIndex index_of(const Node& node, int column = 0) const;
  QVariant text(const Node& node, const Row& row, int column) const;
  QVariant tip(const Node& node, const Row& row, int column) const;
  bool is_of(const Node& node, const ArrayRef& array) const;
  const Node* find(const Node& node, const ArrayRef& array) const;

  Workspace& workspace_;
  bool shows_state_ = false, has_state_ = false;
  QString filter_;
  std::shared_ptr<const ModelIndex> arrays_;  // that the tree was made of
  std::vector<std::string> state_names_;      // that the tree has had
  std::unique_ptr<Node> root_;
  int count_ = 0;
  std::shared_ptr<const RunConfig> config_;  // that specs_ reads
  std::optional<ParameterSpecs> specs_;
  mutable std::deque<Node*> shown_;           // the rows shown last
  std::map<std::string, QStringList> marks_;  // what lint finds, by mark_key()
  QIcon mark_;
};

}  // namespace shardscope
