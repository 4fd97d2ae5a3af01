#include "gui/pages/memory_buffers.h"

#include <array>

#include "engine/base/units.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/workspace/array_of_value.h"

namespace shardscope {

MemoryBuffers::MemoryBuffers(Workspace& workspace, const MemoryCurveView& curve, QObject* parent)
    : QAbstractTableModel(parent), workspace_(workspace), curve_(curve) {
  connect(&curve, &MemoryCurveView::changed, this, &MemoryBuffers::take);
  take();
}

// Which instruction writes each value first.
void MemoryBuffers::learn_makers() {
  const std::shared_ptr<const Plan> plan = curve_.plan();
  if (plan == plan_) return;
  plan_ = plan;
  makers_.clear();
  if (!plan) return;
  makers_.resize(plan->program.values.size());
  for (int task = 0; task < std::ssize(plan->program.tasks); ++task) {
    const std::vector<Instruction>& steps = plan->program.tasks[static_cast<size_t>(task)].instructions;
    for (int step = 0; step < std::ssize(steps); ++step)
      for (const int value : steps[static_cast<size_t>(step)].destinations())
        if (std::optional<StepRef>& maker = makers_[static_cast<size_t>(value)]; !maker) maker = StepRef{task, step};
  }
}

void MemoryBuffers::take() {
  beginResetModel();
  rows_.clear();
  learn_makers();
  if (plan_ && !curve_.curve().totals.empty()) {
    for (const BufferUse& use : largest_in_use(curve_.curve(), curve_.arena(), curve_.position(), most)) {
      Row& row = rows_.emplace_back();
      row.use = use;
      const Buffer& held = buffer(row);
      if (held.persistent) continue;
      row.maker =
          held.value < 0 ? step_at(*plan_, use.first, curve_.stage()) : makers_[static_cast<size_t>(held.value)];
    }
  }
  endResetModel();
}

int MemoryBuffers::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int MemoryBuffers::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : columns; }

ArrayRef MemoryBuffers::array(const Row& row) const {
  const int value = buffer(row).value;
  return value < 0
             ? ArrayRef()
             : array_of_value(workspace_.planner, *curve_.plan(), curve_.plan()->program.values[value].graph_value);
}

QString MemoryBuffers::text(const Row& row, int column) const {
  const Plan& plan = *curve_.plan();
  const Buffer& buffer = this->buffer(row);
  switch (column) {
    case name_column: {
      const QString name = buffer.value >= 0 ? value_text(plan, plan.program.values[buffer.value].graph_value)
                           : row.maker
                               ? tr("workspace of %1").arg(qt(plan.instruction_name(*find_step(plan, row.maker))))
                               : tr("copies of gradients");
      return buffer.slot_count > 1 ? tr("%1, %2 of %3 slots").arg(name).arg(row.use.held).arg(buffer.slot_count) : name;
    }
    case bytes_column: return qt(bytes_text(double(row.use.bytes)));
    case category_column: return qt(name(buffer.category));
    case layout_column: {
      if (buffer.value < 0) return {};
      const ProgramValue& program_value = plan.program.values[buffer.value];
      return qt(to_string(program_value.shape)) + " " + qt(to_string(program_value.sharding, plan.mesh));
    }
    case maker_column:
      return row.maker && find_step(plan, row.maker) ? short_name(plan.instruction_name(*find_step(plan, row.maker)))
                                                     : tr("stored");
    default:
      return buffer.persistent ? tr("always") : tr("instructions %1\u2013%2").arg(row.use.first).arg(row.use.last);
  }
}

QVariant MemoryBuffers::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const Row& row = rows_[static_cast<size_t>(index.row())];
  switch (role) {
    case Qt::DisplayRole: return text(row, index.column());
    case Qt::DecorationRole:
      return index.column() == name_column ? QVariant(color_mark(category_color(buffer(row).category, theme())))
                                           : QVariant();
    case Qt::TextAlignmentRole:
      return index.column() == bytes_column ? QVariant(Qt::AlignRight | Qt::AlignVCenter) : QVariant();
    case Qt::ToolTipRole:
      if (index.column() == bytes_column) return qt(exact_bytes(double(row.use.bytes)));
      return text(row, index.column());
    case array_role: return QVariant::fromValue(array(row));
    case step_role: return row.maker ? QVariant::fromValue(*row.maker) : QVariant();
    default: return {};
  }
}

QVariant MemoryBuffers::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  static const std::array<std::pair<const char*, const char*>, columns> titles{
      {{QT_TR_NOOP("Buffer"), QT_TR_NOOP("The array that is there first; a slot holds one microbatch.")},
       {QT_TR_NOOP("Bytes"), QT_TR_NOOP("On each device, of the slots that hold something.")},
       {QT_TR_NOOP("Kind"), QT_TR_NOOP("What the memory is for.")},
       {QT_TR_NOOP("Layout"), QT_TR_NOOP("Shape and sharding: the mesh axes that split each dimension.")},
       {QT_TR_NOOP("Made by"), QT_TR_NOOP("The instruction that writes it first.")},
       {QT_TR_NOOP("In use"), QT_TR_NOOP("From which position of the sequence to which.")}}};
  if (role == Qt::DisplayRole) return tr(titles[static_cast<size_t>(section)].first);
  if (role == Qt::ToolTipRole) return tr(titles[static_cast<size_t>(section)].second);
  if (role == Qt::TextAlignmentRole)
    return QVariant((section == bytes_column ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  return {};
}

}  // namespace shardscope
