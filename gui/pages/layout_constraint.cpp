#include "gui/pages/layout_constraint.h"

#include <QHBoxLayout>
#include <algorithm>
#include <utility>

#include "gui/document/faults.h"
#include "gui/document/spec_line.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/look/filled_layout.h"

namespace shardscope {

LayoutConstraint::LayoutConstraint(Workspace& workspace, QWidget* parent)
    : QWidget(parent),
      workspace_(workspace),
      title_(new QLabel(tr("&Constraint"), this)),
      field_(new SpecField(this)),
      remove_(new QPushButton(tr("Remove"), this)) {
  setObjectName("layoutConstraint");
  title_->setToolTip(
      tr("How this activation shall lie, in JAX's notation: P('data', None). It becomes a line of "
         "sharding.constraints; an empty one takes it out again."));
  field_->setObjectName("constraintSpec");
  field_->setAccessibleName(tr("constraint of the activation"));
  field_->setMinimumWidth(90);
  title_->setBuddy(field_);
  remove_->setObjectName("constraintRemove");
  remove_->setToolTip(tr("Takes the constraint out of the run file: the planner chooses the layout again."));
  filled(bordered(new QHBoxLayout(this), {0, 0, 0, 0}, 6), {title_, {field_, 1}, remove_});
  connect(field_, &SpecField::specTyped, this,
          [this](const PartitionSpec& spec) { set_constraint(workspace_.document, name_, spec); });
  connect(field_, &QLineEdit::returnPressed, this, [this] {
    if (field_->text().trimmed().isEmpty()) remove_constraint(workspace_.document, name_);
  });
  connect(remove_, &QPushButton::clicked, this, [this] { remove_constraint(workspace_.document, name_); });
  hide();
}

void LayoutConstraint::show_array(const std::optional<ArrayFacts>& facts) {
  const auto* value = facts ? std::get_if<ValueRef>(&facts->array) : nullptr;
  setVisible(value);
  if (!value) return;
  if (std::exchange(name_, value->name) != value->name) field_->setModified(false);
  const std::vector<Constraint>& all = workspace_.document.config().sharding.constraints;
  const auto own = std::ranges::find(all, name_, &Constraint::names);
  remove_->setVisible(own != all.end());
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  field_->setPlaceholderText(plan && facts->sharding ? qt(to_string(*facts->sharding, plan->mesh)) : QString("P()"));
  field_->show_spec(own == all.end() ? QString() : spec_text(own->spec));
  if (own == all.end() || !field_->fault().isEmpty()) return;
  const QString errors = errors_text(errors_at(workspace_.planner.errors(), qt(constraint_place(*own))));
  if (errors.isEmpty()) return;
  mark_invalid(field_, true);
  field_->setToolTip(errors);
}

}  // namespace shardscope
