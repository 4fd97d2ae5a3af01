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
  if (!error.place.empty()) text = qt(to_string(error.place)) + ": " + text;
  return error.hint.empty() ? text : text + " (" + qt(error.hint) + ")";
}

}  // namespace

RulesModel::RulesModel(Workspace& workspace, QObject* parent) : QAbstractTableModel(parent), workspace_(workspace) {
  connect(&workspace.document, &Document::configChanged, this, &RulesModel::refresh);
  connect(&workspace.planner, &Planner::delivered, this, &RulesModel::refresh_status);
  connect(&workspace.selection, &Selection::arrayChanged, this, &RulesModel::refresh_status);
  connect(&look(), &Look::changed, this, &RulesModel::refresh_status);
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
    const SpecLineFacts facts = facts_of(sharding, line);
    const QString placement = qt(placement_text(facts.placement));
    rows.push_back({line, facts.place, qt(facts.names), kinds_text(facts.kinds), placement, {}});
  }
  if (rows.size() != rows_.size()) {
    beginResetModel();
    rows_ = std::move(rows);
    endResetModel();
  } else {
    rows_ = std::move(rows);
  }
  refresh_status();
}

void RulesModel::refresh_status() {
  decider_.clear();
  const ArrayRef& array = workspace_.selection.array();
  if (std::holds_alternative<InputRef>(array) || std::holds_alternative<OutputRef>(array)) decider_ = place_of(array);
  if (const auto* parameter = std::get_if<ParameterRef>(&array)) {
    if (const ParameterPlan* planned = workspace_.planner.find_planned(parameter->path)) decider_ = qt(planned->place);
  }
  for (Row& row : rows_) row.status.reset();
  if (!rows_.empty()) emit dataChanged(index(0, 0), index(rowCount() - 1, columns - 1));
}

const RulesModel::Status& RulesModel::status(const Row& row) const {
  if (!row.status) row.status = look_up(row);
  return *row.status;
}

RulesModel::Status RulesModel::look_up(const Row& row) const {
  const Planner& planner = workspace_.planner;
  Status status;
  status.errors = errors_text(errors_at(planner.errors(), row.place));
  status.decides_selected = !decider_.isEmpty() && is_at(decider_, row.place);
  if (!planner.is_current()) return status;
  const std::vector<SpecLineUse>& lines = planner.plan()->spec_lines;
  const size_t at = static_cast<size_t>(&row - rows_.data());
  if (at < lines.size() && qt(lines[at].place) == row.place) status.use = lines[at];
  return status;
}

int RulesModel::row_of(SpecLine line) const {
  const auto found = std::ranges::find(rows_, line, &Row::line);
  return found == rows_.end() ? -1 : static_cast<int>(found - rows_.begin());
}

int RulesModel::row_at(const QString& place) const {
  const auto found = std::ranges::find_if(rows_, [&](const Row& row) { return is_at(place, row.place); });
  return found == rows_.end() ? -1 : static_cast<int>(found - rows_.begin());
}

QString RulesModel::tip(const Row& row, int column) const {
  const auto& [use, errors, decides_selected] = status(row);
  if (!errors.isEmpty()) return errors;
  if (!use || column == placement_column) return row.placement;
  QString text = row.place;
  if (use->matched == 0) return text + "\n" + tr("It matches nothing.");
  text += "\n" + tr("It matches:") + "\n" + qt(use->sample);
  const auto shown = std::count(use->sample.begin(), use->sample.end(), '\n') + 1;
  if (use->matched > shown) text += "\n" + tr("and %1 more").arg(use->matched - shown);
  return text;
}

QVariant RulesModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const Row& row = rows_[static_cast<size_t>(index.row())];
  const auto& [use, errors, decides_selected] = status(row);
  const int column = index.column();
  switch (role) {
    case Qt::DisplayRole:
    case Qt::EditRole:
      switch (column) {
        case place_column: return row.place.section('.', 1);
        case names_column: return row.names;
        case kinds_column: return row.kinds;
        case placement_column: return row.placement;
        case matched_column: return use ? QVariant(use->matched) : QVariant();
        case decided_column: return use ? QVariant(use->decided) : QVariant();
        default: return {};
      }
    case Qt::ToolTipRole: return tip(row, column);
    case Qt::FontRole: {
      QFont font;
      font.setBold(decides_selected);
      return font;
    }
    case Qt::ForegroundRole:
      if (!errors.isEmpty()) return theme().error;
      if (use && use->matched == 0) return theme().warning;
      if (column == place_column && !decides_selected) return theme().muted;
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
      case names_column: return names_fault(workspace_.document.config().sharding, at, text.trimmed().toStdString());
      case kinds_column: return parse_kinds(text), QString();
      case placement_column: return placement_fault(at, parse_placement(text.toStdString()));
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
    case placement_column: {
      const SpecLine own = line(index.row());
      const bool is_one_of = std::ranges::find(together_, own) != together_.end();
      return set_placement(document, is_one_of ? together_ : std::vector{own}, parse_placement(text.toStdString()));
    }
    default: return false;
  }
}

}  // namespace shardscope
