#pragma once

#include <QObject>
#include <array>
#include <optional>
#include <unordered_map>

#include "gui/workspace/workspace.h"

namespace shardscope {

// A plan that is kept for comparison, with what views look up in it.
struct PinnedPlan {
  std::shared_ptr<const Plan> plan;
  int64_t collectives = 0;                                   // of a training step: exchanges()
  std::unordered_map<std::string, const Sharding*> layouts;  // of parameters and forward values, by name

  PinnedPlan() = default;
  PinnedPlan(std::shared_ptr<const Plan> plan, int64_t collectives);
  // Null where the plan has no such array.
  const Sharding* layout(const std::string& array) const;
};

// The plans A, B and C. They stay while the document becomes another one.
class PinnedPlans : public QObject {
  Q_OBJECT
 public:
  static constexpr int count = 3;

  explicit PinnedPlans(Workspace& workspace, QObject* parent = nullptr);

  // Keeps the plan that is shown in the first free place, else in the one that was taken longest ago. Nothing while
  // there is none, or it is kept already; gives the place, -1 for none.
  int pin();
  void unpin(int place);
  void keep_those_of(const PinnedPlans& other);
  // The document becomes what the plan was made of, as one undoable edit.
  void take(int place);

  const PinnedPlan* at(int place) const;  // null: free
  bool any() const;
  static QString name(int place) { return QString(QChar('A' + place)); }

 signals:
  void changed();

 private:
  Workspace& workspace_;
  std::array<std::optional<PinnedPlan>, count> pins_;
  std::array<int, count> pinned_as_{};  // number of the pin
  int pins_made_ = 0;
};

}  // namespace shardscope
