#pragma once

#include <QObject>
#include <array>
#include <optional>
#include <unordered_map>

#include "gui/compare/plan_quantities.h"
#include "gui/workspace/workspace.h"

namespace shardscope {

// A plan that is kept for comparison, with what views look up in it.
struct PinnedPlan {
  std::shared_ptr<const Plan> plan;
  std::optional<PlanFacts> facts;                            // with `plan`
  QString title;                                             // that the person has given it; empty: none
  std::vector<std::pair<std::string, ArrayRef>> arrays;      // parameters, their optimizer state, forward values
  std::unordered_map<std::string, const Sharding*> layouts;  // of the arrays, by name

  PinnedPlan() = default;
  PinnedPlan(std::shared_ptr<const Plan> plan, const PlanIndex& index);
  // Null where the plan has no such array.
  const Sharding* layout(const std::string& array) const;
};

// The arrays of a plan that have a layout, with it: in the order of the model, an optimizer's state behind its
// parameter.
struct LaidOutArray {
  std::string name;
  ArrayRef array;
  const Sharding* sharding;
};
std::vector<LaidOutArray> laid_out_arrays(const Plan& plan);

// The plans A, B and C, or as they are named. They stay while the document becomes another one.
class PinnedPlans : public QObject {
  Q_OBJECT
 public:
  static constexpr int count = 3;
  enum class Pinning : uint8_t { pinned, known, full };

  explicit PinnedPlans(Workspace& workspace, QObject* parent = nullptr);

  // Keeps the plan that is shown in the first free place, else in the one that was taken longest ago. Nothing while
  // there is none, or it is kept already; gives the place, -1 for none.
  int pin();
  // Keeps another plan under a title: in a free place, else in that of the oldest of these. `full`: the person has
  // pinned all places.
  Pinning pin_found(std::shared_ptr<const Plan> plan, const PlanIndex& index, const QString& title);
  void unpin(int place);
  void keep_those_of(const PinnedPlans& other);
  // The document becomes what the plan was made of, as one undoable edit.
  void take(int place);

  const PinnedPlan* at(int place) const;  // null: free
  bool any() const;
  // Empty: its letter again.
  void rename(int place, const QString& title);
  // As the person has named it, else its letter.
  QString name(int place) const;

 signals:
  void changed();

 private:
  bool is_pinned(const Plan& plan) const;
  void put(size_t place, PinnedPlan pin, bool is_found);

  Workspace& workspace_;
  std::array<std::optional<PinnedPlan>, count> pins_;
  std::array<int, count> pinned_as_{};  // number of the pin
  std::array<bool, count> is_found_{};  // it was pinned by pin_found()
  int pins_made_ = 0;
};

}  // namespace shardscope
