#include "gui/pages/layout_constraint.h"

#include <QHBoxLayout>
#include <algorithm>
#include <utility>

#include "engine/config/placement_text.h"
#include "gui/document/faults.h"
#include "gui/document/spec_line.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/look/field_guard.h"

namespace shardscope {
namespace {

QString tip() {
  return LayoutConstraint::tr(
      "How this activation shall lie, in JAX's notation: P('data', None). It becomes a line of sharding.constraints.");
}

}  // namespace

LayoutConstraint::LayoutConstraint(Workspace& workspace, QWidget* parent)
    : QWidget(parent),
      workspace_(workspace),
      title_(new QLabel(tr("&Constraint"), this)),
      field_(new QLineEdit(this)),
      remove_(new QPushButton(tr("Remove"), this)) {
  setObjectName("layoutConstraint");
  field_->setObjectName("constraintSpec");
  field_->setAccessibleName(tr("constraint of the activation"));
  field_->setMinimumWidth(90);
  guard_field(field_);
  title_->setBuddy(field_);
  remove_->setObjectName("constraintRemove");
  remove_->setToolTip(tr("Takes the constraint out of the run file: the planner chooses the layout again."));
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(6);
  row->addWidget(title_);
  row->addWidget(field_, 1);
  row->addWidget(remove_);
  connect(field_, &QLineEdit::editingFinished, this, &LayoutConstraint::take);
  connect(remove_, &QPushButton::clicked, this, [this] { remove_constraint(workspace_.document, name_); });
  hide();
}

void LayoutConstraint::show_array(const std::optional<ArrayFacts>& facts) {
  const auto* value = facts ? std::get_if<ValueRef>(&facts->array) : nullptr;
  setVisible(value);
  if (!value) return;
  const bool is_other = std::exchange(name_, value->name) != value->name;
  const std::vector<Constraint>& all = workspace_.document.config().sharding.constraints;
  const auto own = std::ranges::find(all, name_, &Constraint::names);
  remove_->setVisible(own != all.end());
  if (is_other || !(field_->hasFocus() && field_->isModified()))
    field_->setText(own == all.end() ? QString() : qt(placement_text(own->spec)));
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  field_->setPlaceholderText(plan && facts->sharding ? qt(to_string(*facts->sharding, plan->mesh)) : QString("P()"));
  const std::vector<Error> errors =
      own == all.end() ? std::vector<Error>{} : errors_at(workspace_.planner.errors(), qt(constraint_place(*own)));
  show_fault(errors_text(errors));
}

void LayoutConstraint::show_fault(const QString& fault) {
  mark_invalid(field_, !fault.isEmpty());
  field_->setToolTip(fault.isEmpty() ? tip() : fault);
}

void LayoutConstraint::take() {
  const QString text = field_->text().trimmed();
  if (text.isEmpty()) return remove_constraint(workspace_.document, name_);
  try {
    const RulePlacement placement = parse_placement(text.toStdString());
    const auto* spec = std::get_if<PartitionSpec>(&placement);
    if (!spec) return show_fault(tr("A constraint is a spec, such as P('data', None)."));
    field_->setModified(false);
    set_constraint(workspace_.document, name_, *spec);
  } catch (const Failure& failure) {
    show_fault(errors_text(failure.errors()));
  }
}

}  // namespace shardscope
