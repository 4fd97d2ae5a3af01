#include "gui/pages/memory_buffers.h"

#include <QPixmap>
#include <algorithm>
#include <array>

#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/workspace/array_of_value.h"
#include "viz/paint/units.h"

namespace shardscope {
namespace {

QPixmap category_mark(MemoryCategory category) {
  QPixmap mark(10, 10);
  mark.fill(category_color(category, theme()));
  return mark;
}

}  // namespace

MemoryBuffers::MemoryBuffers(Workspace& workspace, const MemoryCurveView& curve, QObject* parent)
    : QAbstractTableModel(parent), workspace_(workspace), curve_(curve) {
  connect(&curve, &MemoryCurveView::changed, this, &MemoryBuffers::take);
  take();
}

void MemoryBuffers::take() {
  beginResetModel();
  rows_.clear();
  if (curve_.plan() && !curve_.curve().totals.empty()) {
    const int position = curve_.position();
    for (const BufferUse& use : largest_in_use(curve_.curve(), curve_.arena(), position, most)) {
      Row& row = rows_.emplace_back();
      row.use = use;
      const auto holds = [&](const SlotUse& slot) {
        return slot.buffer == use.buffer && slot.first <= position && position <= slot.last;
      };
      const SlotUse& slot = *std::ranges::find_if(curve_.curve().uses, holds);
      row.first = slot.first;
      row.last = slot.last;
      if (buffer(row).value < 0) row.maker = step_at(*curve_.plan(), slot.first, curve_.stage());
    }
    const std::vector<Task>& tasks = curve_.plan()->program.tasks;
    for (int task = 0; task < std::ssize(tasks); ++task)
      for (int step = 0; step < std::ssize(tasks[static_cast<size_t>(task)].steps); ++step)
        for (const int value : tasks[static_cast<size_t>(task)].steps[static_cast<size_t>(step)].outputs)
          for (Row& row : rows_)
            if (buffer(row).value == value && !buffer(row).persistent) row.maker = StepRef{task, step};
  }
  endResetModel();
}

int MemoryBuffers::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int MemoryBuffers::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : columns; }

ArrayRef MemoryBuffers::array(const Row& row) const {
  const int value = buffer(row).value;
  return value < 0 ? ArrayRef() : array_of_value(workspace_.planner, curve_.plan()->program.values[value].graph_value);
}

QString MemoryBuffers::text(const Row& row, int column) const {
  const Plan& plan = *curve_.plan();
  const Buffer& buffer = this->buffer(row);
  switch (column) {
    case name_column: {
      const QString name = buffer.value < 0 ? tr("workspace of %1").arg(qt(plan.step_name(*find_step(plan, row.maker))))
                                            : value_text(plan, plan.program.values[buffer.value].graph_value);
      return buffer.slot_count > 1 ? tr("%1, %2 of %3 slots").arg(name).arg(row.use.held).arg(buffer.slot_count) : name;
    }
    case bytes_column: return qt(bytes_text(double(row.use.bytes)));
    case category_column: return qt(name(buffer.category));
    case layout_column: {
      if (buffer.value < 0) return {};
      const ProgramValue& lies = plan.program.values[buffer.value];
      return qt(to_string(lies.shape)) + " " + qt(to_string(lies.sharding, plan.mesh));
    }
    case maker_column:
      return row.maker && find_step(plan, row.maker) ? short_name(plan.step_name(*find_step(plan, row.maker)))
                                                     : tr("stored");
    default: return buffer.persistent ? tr("always") : tr("steps %1\u2013%2").arg(row.first).arg(row.last);
  }
}

QVariant MemoryBuffers::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const Row& row = rows_[static_cast<size_t>(index.row())];
  switch (role) {
    case Qt::DisplayRole: return text(row, index.column());
    case Qt::DecorationRole:
      return index.column() == name_column ? QVariant(category_mark(buffer(row).category)) : QVariant();
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
      {{QT_TR_NOOP("Buffer"), QT_TR_NOOP("The array that lies there first; a slot holds one microbatch.")},
       {QT_TR_NOOP("Bytes"), QT_TR_NOOP("On each device, of the slots that hold something.")},
       {QT_TR_NOOP("Kind"), QT_TR_NOOP("What the memory is for.")},
       {QT_TR_NOOP("Layout"), QT_TR_NOOP("Shape and sharding: the mesh axes that split each dimension.")},
       {QT_TR_NOOP("Made by"), QT_TR_NOOP("The step that writes it first.")},
       {QT_TR_NOOP("In use"), QT_TR_NOOP("From which position of the sequence to which.")}}};
  if (role == Qt::DisplayRole) return tr(titles[static_cast<size_t>(section)].first);
  if (role == Qt::ToolTipRole) return tr(titles[static_cast<size_t>(section)].second);
  if (role == Qt::TextAlignmentRole)
    return QVariant((section == bytes_column ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  return {};
}

}  // namespace shardscope
