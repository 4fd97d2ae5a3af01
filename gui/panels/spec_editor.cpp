#include "gui/panels/spec_editor.h"

#include <QAbstractItemView>
#include <QGridLayout>
#include <QKeyEvent>
#include <QSignalBlocker>
#include <QStandardItemModel>
#include <algorithm>

#include "gui/document/faults.h"
#include "gui/document/spec_text.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/look/field_guard.h"

namespace shardscope {
namespace {

constexpr int labelled_in_a_row = 2;  // fits the narrowest inspector
constexpr int most_errors = 4;

// Why a choice is illegal for an array; empty where it is legal.
QString fault(const std::vector<std::string>& choice, int dim, const std::vector<MeshAxis>& axes,
              const EditedSpec& array) {
  const auto& [array_name, shape, spec, errors, place] = array;
  int64_t shards = 1;
  for (const std::string& name : choice) {
    for (size_t other = 0; other < spec.dims.size(); ++other)
      if (static_cast<int>(other) != dim && std::ranges::find(spec.dims[other], name) != spec.dims[other].end())
        return SpecEditor::tr("%1 splits dimension %2").arg(qt(name)).arg(other);
    const auto axis = std::ranges::find(axes, name, &MeshAxis::name);
    if (axis == axes.end()) return SpecEditor::tr("%1 is no axis that can split an array").arg(qt(name));
    shards *= axis->size;
  }
  if (shards > 0 && shape[dim] % shards != 0)
    return SpecEditor::tr("%1 is not divisible by %2").arg(shape[dim]).arg(shards);
  return {};
}

QString fault(const std::vector<std::string>& choice, int dim, const std::vector<MeshAxis>& axes,
              const std::vector<EditedSpec>& arrays) {
  for (const EditedSpec& array : arrays)
    if (const QString why = fault(choice, dim, axes, array); !why.isEmpty())
      return arrays.size() == 1 ? why : array.name + ": " + why;
  return {};
}

// "1024", or the least and the largest size.
QString sizes_text(int dim, const std::vector<EditedSpec>& arrays) {
  const auto [least, most] =
      std::ranges::minmax(arrays, {}, [dim](const EditedSpec& array) { return array.shape[dim]; });
  const QString text = QString::number(least.shape[dim]);
  return least.shape[dim] == most.shape[dim] ? text : text + QChar(0x2013) + QString::number(most.shape[dim]);
}

// What is wrong with a dimension; of an array as a whole, it is with those dimensions that are split.
QString errors_of(int dim, const std::vector<EditedSpec>& arrays) {
  QStringList texts;
  for (const auto& [name, shape, spec, errors, place] : arrays) {
    std::vector<Error> here = errors_at(errors, QString("%1[%2]").arg(place).arg(dim));
    for (const Error& error : errors)
      if (qt(error.place.path) == place) here.push_back(error);
    const bool is_split = dim < std::ssize(spec.dims) && !spec.dims[dim].empty();
    if (!here.empty() && (is_split || here.size() != errors.size())) texts << errors_text(here);
  }
  texts.removeDuplicates();
  return texts.mid(0, most_errors).join("\n");
}

}  // namespace

std::vector<std::vector<std::string>> spec_choices(const std::vector<MeshAxis>& axes,
                                                   const std::vector<std::string>& now) {
  std::vector<std::vector<std::string>> choices{{}};
  for (const MeshAxis& axis : axes) choices.push_back({axis.name});
  const auto offer = [&](const std::vector<std::string>& choice) {
    if (std::ranges::find(choices, choice) == choices.end()) choices.push_back(choice);
  };
  if (now.size() > 1) offer({now.begin(), now.end() - 1});
  offer(now);
  for (const MeshAxis& axis : axes) {
    if (now.empty() || std::ranges::find(now, axis.name) != now.end()) continue;
    std::vector<std::string> more = now;
    more.push_back(axis.name);
    offer(more);
  }
  return choices;
}

SpecEditor::SpecEditor(Form form, QWidget* parent) : QWidget(parent), form_(form) {
  auto* layout = new QGridLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setHorizontalSpacing(form == Form::compact ? 2 : 6);
  layout->setVerticalSpacing(2);
}

void SpecEditor::make_fields(int rank) {
  if (rank == this->rank()) return;
  for (Field& field : fields_) {
    delete field.label;
    delete field.box;
  }
  fields_.assign(rank, {});
  auto* grid = static_cast<QGridLayout*>(layout());
  for (int dim = 0; dim < rank; ++dim) {
    Field& field = fields_[dim];
    field.box = new QComboBox(this);
    field.box->setObjectName(QString("dim%1").arg(dim));
    field.box->setAccessibleName(tr("split of dimension %1").arg(dim));
    field.box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    field.box->setMinimumContentsLength(form_ == Form::compact ? 6 : 8);
    guard_field(field.box);
    field.box->installEventFilter(this);
    field.box->setMinimumWidth(form_ == Form::compact ? 76 : 62);
    if (form_ == Form::labelled) {
      field.label = new QLabel(this);
      field.label->setFont(small_font());
      field.label->setBuddy(field.box);
      const int row = dim / labelled_in_a_row * 2, column = dim % labelled_in_a_row;
      grid->addWidget(field.label, row, column);
      grid->addWidget(field.box, row + 1, column);
    } else {
      grid->addWidget(field.box, 0, dim);
    }
    connect(field.box, &QComboBox::activated, this, [this, dim](int index) {
      if (index >= 0) emit dimChosen(dim, fields_[dim].choices.at(index));
    });
  }
  if (rank > 0) setFocusProxy(fields_.front().box);
}

bool SpecEditor::eventFilter(QObject* watched, QEvent* event) {
  const auto field = std::ranges::find(fields_, watched, &Field::box);
  if (event->type() != QEvent::KeyPress || field == fields_.end()) return QWidget::eventFilter(watched, event);
  const auto* key = static_cast<QKeyEvent*>(event);
  const bool is_letter = key->text().size() == 1 && key->text().front().isLetter();
  if (!is_letter || (key->modifiers() & ~Qt::ShiftModifier)) return QWidget::eventFilter(watched, event);
  choose_next(*field, key->text().front());
  return true;
}

void SpecEditor::choose_next(const Field& field, QChar letter) {
  const int count = field.box->count();
  for (int step = 1; step <= count; ++step) {
    const int row = (field.box->currentIndex() + step) % count;
    const std::vector<std::string>& choice = field.choices.at(row);
    const QString name = choice.empty() ? "None" : qt(choice.front());
    const bool is_legal = field.box->model()->index(row, 0).flags() & Qt::ItemIsEnabled;
    if (!is_legal || !name.startsWith(letter, Qt::CaseInsensitive)) continue;
    field.box->setCurrentIndex(row);
    emit field.box->activated(row);
    return;
  }
}

void SpecEditor::show_specs(std::vector<MeshAxis> axes, const std::string& pipeline,
                            const std::vector<EditedSpec>& arrays) {
  std::erase_if(axes, [&](const MeshAxis& axis) { return axis.name == pipeline; });
  size_t rank = 0;
  for (const EditedSpec& array : arrays) rank = std::max(rank, array.shape.size());
  make_fields(static_cast<int>(rank));
  for (int dim = 0; dim < static_cast<int>(rank); ++dim) {
    std::vector<EditedSpec> having = arrays;
    std::erase_if(having, [dim](const EditedSpec& array) { return std::ssize(array.shape) <= dim; });
    fill(fields_[dim], dim, axes, having);
  }
}

void SpecEditor::fill(Field& field, int dim, const std::vector<MeshAxis>& axes, const std::vector<EditedSpec>& arrays) {
  const auto entry_of = [dim](const EditedSpec& array) {
    return dim < std::ssize(array.spec.dims) ? array.spec.dims[dim] : std::vector<std::string>{};
  };
  const std::vector<std::string> first = entry_of(arrays.front());
  const bool alike = std::ranges::all_of(arrays, [&](const EditedSpec& array) { return entry_of(array) == first; });
  const std::vector<std::string> now = alike ? first : std::vector<std::string>{};
  auto choices = spec_choices(axes, now);
  const QSignalBlocker block(field.box);
  if (choices != field.choices) {
    field.box->clear();
    for (const auto& choice : choices) field.box->addItem(dim_text(choice));
    field.choices = std::move(choices);
  }
  for (size_t i = 0; i < field.choices.size(); ++i) {
    const QString why = fault(field.choices[i], dim, axes, arrays);
    const int row = static_cast<int>(i);
    static_cast<QStandardItemModel*>(field.box->model())->item(row)->setEnabled(why.isEmpty());
    field.box->setItemData(row, why.isEmpty() ? QVariant() : QVariant(theme().muted), Qt::ForegroundRole);
    field.box->setItemData(row, why.isEmpty() ? QVariant() : QVariant(why), Qt::ToolTipRole);
  }
  const auto chosen = static_cast<int>(std::ranges::find(field.choices, now) - field.choices.begin());
  field.box->setPlaceholderText(tr("mixed"));
  field.box->setCurrentIndex(alike ? chosen : -1);
  field.box->view()->setMinimumWidth(field.box->view()->sizeHintForColumn(0) + 24);
  if (field.label) field.label->setText(tr("dim %1: %2").arg(dim).arg(sizes_text(dim, arrays)));

  const QString text = errors_of(dim, arrays);
  mark_invalid(field.box, !text.isEmpty());
  field.box->setToolTip(!text.isEmpty() ? text
                        : alike ? tr("The mesh axes that split dimension %1, outermost first. None: every device "
                                     "holds the whole dimension.")
                                      .arg(dim)
                                : tr("The arrays are split differently along dimension %1. A choice is for all of "
                                     "them.")
                                      .arg(dim));
}

}  // namespace shardscope
