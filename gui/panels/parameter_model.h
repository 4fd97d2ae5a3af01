#pragma once

#include <QAbstractItemModel>
#include <memory>
#include <vector>

#include "gui/workspace/array_facts.h"

namespace shardscope {

// The arrays that have a spec, as a tree of path segments: the model's input and output, then its parameters, with
// their optimizer state below them on demand. Specs are the config's (the newest), bytes those of the last good plan.
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
  enum Role { array_role = Qt::UserRole, filter_role };

  explicit ParameterModel(Workspace& workspace, QObject* parent = nullptr);

  void set_shows_state(bool shows);
  QModelIndex index_of(const ArrayRef& array) const;

  QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
  QModelIndex parent(const QModelIndex& child) const override;
  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  Qt::ItemFlags flags(const QModelIndex& index) const override;

 private:
  struct Node {
    QString segment;
    ArrayRef array;  // none: a group
    Node* parent = nullptr;
    int row = 0;
    std::vector<std::unique_ptr<Node>> children;
    int64_t total_bytes = 0, device_bytes = 0;
    ArrayFacts facts;
  };

  void refresh();
  std::unique_ptr<Node> build() const;
  Node* add(Node& parent, const QString& segment, const ParameterSpecs& specs, const ArrayRef& array) const;
  void count(Node& node) const;
  static bool same_tree(const Node& a, const Node& b);
  const Node& node_of(const QModelIndex& index) const;
  QVariant text(const Node& node, int column) const;
  QVariant tip(const Node& node, int column) const;
  const Node* find(const Node& node, const ArrayRef& array) const;

  Workspace& workspace_;
  bool shows_state_ = false;
  std::unique_ptr<Node> root_;
};

}  // namespace shardscope
