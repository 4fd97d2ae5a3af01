#include "gui/panels/rules_model.h"

#include <QFont>
#include <algorithm>

#include "engine/config/run_file_keys.h"
#include "gui/document/edits.h"
#include "gui/document/faults.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"

namespace shardscope {
namespace {

QString kinds_text(const std::vector<SpecKind>& kinds) {
  QStringList names;
  for (SpecKind kind : kinds) names << qt(run_file::spec_kinds()[static_cast<size_t>(kind)]);
  return names.join(", ");
}

// Throws Failure naming the word that is no kind.
std::vector<SpecKind> parse_kinds(const QString& text) {
  const std::vector<std::string>& known = run_file::spec_kinds();
  std::vector<SpecKind> kinds;
  for (const QString& part : text.split(',', Qt::SkipEmptyParts)) {
    const std::string word = part.trimmed().toStdString();
    const auto found = std::ranges::find(known, word);
    if (found == known.end()) {
      throw Failure(Error{"kind", "'" + word + "' is no kind of array", "", name_hint(word, known)});
    }
    const auto kind = static_cast<SpecKind>(found - known.begin());
    if (std::ranges::find(kinds, kind) == kinds.end()) kinds.push_back(kind);
  }
  if (kinds.empty()) throw Failure(Error{"kind", "a rule is of some kind of array", "", name_hint("", known)});
  return kinds;
}

QVariant alignment(int column) {
  return QVariant(Qt::Alignment(column >= RulesModel::matched_column ? Qt::AlignRight : Qt::AlignLeft) |
                  Qt::AlignVCenter);
}

QString message(const Failure& failure) {
  const Error& error = failure.errors().front();
  QString text = qt(error.message);
  if (!error.where.empty()) text = qt(error.where) + ": " + text;
  return error.hint.empty() ? text : text + " (" + qt(error.hint) + ")";
}

}  // namespace

RulesModel::RulesModel(Workspace& workspace, QObject* parent) : QAbstractTableModel(parent), workspace_(workspace) {
  connect(&workspace.document, &Document::configChanged, this, &RulesModel::refresh);
  connect(&workspace.planner, &Planner::delivered, this, &RulesModel::refresh_use);
  connect(&workspace.selection, &Selection::arrayChanged, this, &RulesModel::refresh_use);
  connect(&look(), &Look::changed, this, &RulesModel::refresh_use);
  refresh();
}

int RulesModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int RulesModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : columns; }

void RulesModel::refresh() {
  const ShardingConfig& sharding = workspace_.document.config().sharding;
  std::vector<Row> rows;
  for (SpecLine line : spec_lines(sharding)) {
    rows.push_back({line, place_of(sharding, line), qt(names_of(sharding, line)), kinds_text(kinds_of(sharding, line)),
                    qt(placement_text(placement_of(sharding, line)))});
  }
  if (rows.size() != rows_.size()) {
    beginResetModel();
    rows_ = std::move(rows);
    endResetModel();
  } else {
    rows_ = std::move(rows);
  }
  refresh_use();
}

void RulesModel::refresh_use() {
  decider_.clear();
  const ArrayRef& array = workspace_.selection.array();
  if (std::holds_alternative<InputRef>(array) || std::holds_alternative<OutputRef>(array)) decider_ = place_of(array);
  if (const auto* parameter = std::get_if<ParameterRef>(&array)) {
    if (const ParameterPlan* planned = workspace_.planner.find_planned(parameter->path)) decider_ = qt(planned->place);
  }
  if (!rows_.empty()) emit dataChanged(index(0, 0), index(rowCount() - 1, columns - 1));
}

int RulesModel::row_of(SpecLine line) const {
  const auto found = std::ranges::find(rows_, line, &Row::line);
  return found == rows_.end() ? -1 : static_cast<int>(found - rows_.begin());
}

int RulesModel::row_at(const QString& place) const {
  const auto found = std::ranges::find_if(rows_, [&](const Row& row) { return is_at(place, row.place); });
  return found == rows_.end() ? -1 : static_cast<int>(found - rows_.begin());
}

const SpecLineUse* RulesModel::use(const Row& row) const {
  if (!workspace_.planner.is_current()) return nullptr;
  const std::vector<SpecLineUse>& lines = workspace_.planner.plan()->spec_lines;
  const size_t at = static_cast<size_t>(&row - rows_.data());
  return at < lines.size() && qt(lines[at].place) == row.place ? &lines[at] : nullptr;
}

std::vector<Error> RulesModel::errors(const Row& row) const {
  return errors_at(workspace_.planner.errors(), row.place);
}

bool RulesModel::is_decider(const Row& row) const { return !decider_.isEmpty() && is_at(decider_, row.place); }

QString RulesModel::tip(const Row& row, int column) const {
  const std::vector<Error> wrong = errors(row);
  if (!wrong.empty()) return errors_text(wrong);
  const SpecLineUse* used = use(row);
  if (!used || column == placement_column) return row.placement;
  QString text = row.place;
  if (used->matched == 0) return text + "\n" + tr("It matches nothing.");
  text += "\n" + tr("It matches:") + "\n" + qt(used->sample);
  const auto shown = std::count(used->sample.begin(), used->sample.end(), '\n') + 1;
  if (used->matched > shown) text += "\n" + tr("and %1 more").arg(used->matched - shown);
  return text;
}

QVariant RulesModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const Row& row = rows_[static_cast<size_t>(index.row())];
  const int column = index.column();
  const SpecLineUse* used = use(row);
  switch (role) {
    case Qt::DisplayRole:
    case Qt::EditRole:
      switch (column) {
        case place_column: return row.place.section('.', 1);
        case names_column: return row.names;
        case kinds_column: return row.kinds;
        case placement_column: return row.placement;
        case matched_column: return used ? QVariant(used->matched) : QVariant();
        case decided_column: return used ? QVariant(used->decided) : QVariant();
        default: return {};
      }
    case Qt::ToolTipRole: return tip(row, column);
    case Qt::FontRole: {
      QFont font;
      font.setBold(is_decider(row));
      return font;
    }
    case Qt::ForegroundRole:
      if (!errors(row).empty()) return theme().error;
      if (used && used->matched == 0) return theme().warning;
      if (column == place_column && !is_decider(row)) return theme().muted;
      return {};
    case Qt::TextAlignmentRole: return alignment(column);
    case Qt::AccessibleTextRole: return row.place + ": " + row.names + ", " + row.placement;
    default: return {};
  }
}

QVariant RulesModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  static const char* const names[] = {QT_TR_NOOP("Line"),      QT_TR_NOOP("Names"),   QT_TR_NOOP("Of"),
                                      QT_TR_NOOP("Placement"), QT_TR_NOOP("Matches"), QT_TR_NOOP("Decides")};
  static const char* const tips[] = {
      QT_TR_NOOP("Where the line stands in the run file. The first line that speaks of an array decides."),
      QT_TR_NOOP(
          "A name or a pattern: * stands for any part of a name between two slashes, ** for any number of them."),
      QT_TR_NOOP("The kinds of arrays that the line speaks of: parameters, optimizer, states, activations, inputs, "
                 "outputs."),
      QT_TR_NOOP("P('data', None), or logical names: mlp -> model, embed -> None, or by size: largest -> data."),
      QT_TR_NOOP("Arrays that the line speaks of."),
      QT_TR_NOOP("Arrays of which it decides the whole or a dimension; of the others a line before it did.")};
  if (role == Qt::DisplayRole) return tr(names[section]);
  if (role == Qt::ToolTipRole) return tr(tips[section]);
  if (role == Qt::TextAlignmentRole) return alignment(section);
  return {};
}

Qt::ItemFlags RulesModel::flags(const QModelIndex& index) const {
  Qt::ItemFlags flags = QAbstractTableModel::flags(index);
  if (!index.isValid()) return flags;
  const SpecLine at = line(index.row());
  const bool editable = index.column() == placement_column || (index.column() == names_column && is_free(at)) ||
                        (index.column() == kinds_column && at.section == SpecLine::Section::rules);
  return editable ? flags | Qt::ItemIsEditable : flags;
}

QString RulesModel::fault(const QModelIndex& index, const QString& text) const {
  const SpecLine at = line(index.row());
  try {
    switch (index.column()) {
      case names_column: {
        if (text.trimmed().isEmpty()) return tr("A line has a name or a pattern; ** is every array of its kinds.");
        const ShardingConfig& sharding = workspace_.document.config().sharding;
        for (size_t i = 0; at.section == SpecLine::Section::constraints && i < sharding.constraints.size(); ++i) {
          if (i != at.index && qt(sharding.constraints[i].names) == text.trimmed())
            return tr("Another constraint has this name.");
        }
        return {};
      }
      case kinds_column: return parse_kinds(text), QString();
      case placement_column: {
        const RulePlacement placement = parse_placement(text.toStdString());
        const bool fits = at.section == SpecLine::Section::rules || std::holds_alternative<PartitionSpec>(placement);
        return fits ? QString() : tr("Only a rule can place by logical names or by size; here a spec stands.");
      }
      default: return {};
    }
  } catch (const Failure& failure) {
    return message(failure);
  }
}

bool RulesModel::setData(const QModelIndex& index, const QVariant& value, int role) {
  if (!index.isValid() || role != Qt::EditRole || !fault(index, value.toString()).isEmpty()) return false;
  const QString text = value.toString().trimmed();
  Document& document = workspace_.document;
  switch (index.column()) {
    case names_column: return set_names(document, line(index.row()), text.toStdString());
    case kinds_column: return set_kinds(document, line(index.row()), parse_kinds(text));
    case placement_column: return set_placement(document, line(index.row()), parse_placement(text.toStdString()));
    default: return false;
  }
}

}  // namespace shardscope
