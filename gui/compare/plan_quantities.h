#pragma once

#include <QString>
#include <optional>

#include "engine/plan/utilisation.h"

namespace shardscope {

// What Compare says of a plan. Kept where the plan is not.
struct PlanFacts {
  PlanFacts(const Plan& plan, const Utilisation& use, int64_t collectives);

  PlanTotals totals;
  Utilisation use;
  int64_t collectives = 0;     // of a training step: exchanges()
  double exposed_seconds = 0;  // Simulation::most_exposed()
  int64_t memory_limit_bytes = 0;
  Evidence evidence;
  std::string software;  // the stack that it is planned as
  double price_per_device_hour = 0;
};

// A number of a plan, with its title and what it is, for people.
struct PlanQuantity {
  const char *untranslated_title, *untranslated_tip;
  double (*value)(const PlanFacts& plan);
  std::string (*format)(double value);
  bool more_is_better = false;
  bool may_be_unknown = false;  // where it is 0

  QString title() const;
  QString tip() const;
  QString text(double number) const;
  std::optional<double> of(const PlanFacts& plan) const;  // nothing: not known
};

namespace quantities {
extern const PlanQuantity memory, limit, sent, time, exposed, mfu, hfu, tokens, work, collectives, hours, price, cost;
}

}  // namespace shardscope
