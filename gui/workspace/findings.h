#pragma once

#include <QObject>
#include <QTimer>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/lint/lint.h"
#include "gui/background/background.h"
#include "gui/document/document.h"
#include "gui/planning/planner.h"

namespace shardscope {

// What lint finds in the plan that is shown: at once what is certain, and some time after the last edit all of it with
// prices and fixes, which are planned in the background and given up with the next edit.
class Findings : public QObject {
  Q_OBJECT
 public:
  Findings(Document& document, Planner& planner, QObject* parent = nullptr);

  // Empty while the config has errors. Those that cost most first, once they are priced.
  const std::vector<Finding>& list() const { return list_; }
  // Rules that the run file turns off, with its reasons.
  const std::vector<std::pair<std::string, std::string>>& off() const { return off_; }
  const std::vector<Error>& errors() const { return errors_; }  // rules that it turns off and that there are not
  bool is_priced() const { return is_priced_; }
  // There is a plan of which it is not known yet what lint finds.
  bool is_pricing() const { return !is_priced_ && planner_.is_current() && errors_.empty(); }
  bool is_fixing() const { return is_fixing_ && job_.is_busy(); }
  int fixable() const;
  // Messages and costs of those at a place of the run file or below it, one a line; empty: none.
  QString text_at(const QString& place) const;
  static QString text_of(const Finding& finding);

  // One undoable edit each. All: as soon as it is known which they are.
  void fix(size_t finding) { apply(finding, 0); }
  // The finding's fix (0) or one of its other ones.
  void apply(size_t finding, size_t fix);
  void fix_all();

 signals:
  void changed();

 private:
  struct Outcome {
    LintReport report;
    std::vector<Error> errors;
    std::optional<FixedRun> fixed;
  };

  void receive_plan();
  void forget();
  void start();
  void take(Outcome outcome);

  Document& document_;
  Planner& planner_;
  std::vector<Finding> list_;
  std::vector<std::pair<std::string, std::string>> off_;
  std::vector<Error> errors_;
  bool is_priced_ = false, is_fixing_ = false;
  QTimer pause_;
  WorkerThreads thread_{1};  // of its own: at its end it waits for one planning to be given up
  Background<Outcome> job_;
};

}  // namespace shardscope
