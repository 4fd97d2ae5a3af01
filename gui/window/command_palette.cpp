#include "gui/window/command_palette.h"

#include <QApplication>
#include <QKeyEvent>
#include <QPainter>
#include <QStyle>
#include <QStyledItemDelegate>
#include <QVBoxLayout>
#include <algorithm>
#include <functional>
#include <utility>

#include "gui/look/appearance.h"
#include "gui/look/filled_layout.h"
#include "gui/look/key_help.h"
#include "gui/panels/settings_panel.h"
#include "gui/window/fuzzy_match.h"

namespace shardscope {
namespace {

constexpr size_t most_shown = 60;
constexpr int widest_palette = 620, rows_seen = 12;
enum Role { entry_role = Qt::UserRole, where_role, keys_role };

// What it is at the left, behind it where it is found, its keys at the right.
class EntryDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    QStyleOptionViewItem shown = option;
    initStyleOption(&shown, index);
    const QString text = std::exchange(shown.text, {}), keys = index.data(keys_role).toString();
    option.widget->style()->drawControl(QStyle::CE_ItemViewItem, &shown, painter, option.widget);
    const QFontMetrics& metrics = option.fontMetrics;
    const auto draw = [&](const QColor& color, const QRect& place, Qt::Alignment side, const QString& what) {
      painter->setPen(color);
      painter->drawText(place, side | Qt::AlignVCenter, metrics.elidedText(what, Qt::ElideRight, place.width()));
    };
    QRect place = option.rect.adjusted(8, 0, -8, 0);
    painter->save();
    draw(theme().muted, place, Qt::AlignRight, keys);
    place.setRight(place.right() - metrics.horizontalAdvance(keys) - 12);
    draw(index.flags() & Qt::ItemIsEnabled ? theme().text : theme().muted, place, Qt::AlignLeft, text);
    place.setLeft(std::min(place.right(), place.left() + metrics.horizontalAdvance(text) + 12));
    draw(theme().muted, place, Qt::AlignLeft, index.data(where_role).toString());
    painter->restore();
  }
};

}  // namespace

CommandPalette::CommandPalette(QMainWindow& window, Workspace& workspace)
    : QFrame(&window),
      window_(window),
      workspace_(workspace),
      line_(new QLineEdit(this)),
      list_(new QListWidget(this)),
      nothing_(new QLabel(tr("Nothing of this name"), this)) {
  setObjectName("commandPalette");
  setAutoFillBackground(true);
  setFrameShape(QFrame::StyledPanel);
  line_->setObjectName("commandLine");
  line_->setPlaceholderText(tr("What to do, a setting, or the name of an array"));
  line_->setAccessibleName(tr("Command"));
  line_->installEventFilter(this);
  list_->setObjectName("commandList");
  list_->setAccessibleName(tr("Commands, settings and arrays"));
  list_->setFocusPolicy(Qt::NoFocus);
  list_->setFrameShape(QFrame::NoFrame);
  list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  list_->setUniformItemSizes(true);
  list_->setItemDelegate(new EntryDelegate(list_));
  nothing_->setProperty("muted", true);
  nothing_->setAlignment(Qt::AlignCenter);
  filled(bordered(new QVBoxLayout(this), {8, 8, 8, 8}), {line_, {list_, 1}, {nothing_, 1}});
  connect(line_, &QLineEdit::textChanged, this, &CommandPalette::show_matches);
  connect(list_, &QListWidget::itemClicked, this, &CommandPalette::choose);
  set_key_help(this, tr("Command palette"),
               {{tr("Up, Down"), tr("choose")}, {tr("Enter"), tr("do it")}, {tr("Escape"), tr("close")}});
  hide();
}

void CommandPalette::open() {
  before_ = QApplication::focusWidget();
  list_entries();
  line_->clear();
  show_matches();
  const int width = std::min(widest_palette, window_.width() - 40);
  const int height = std::min(rows_seen * (fontMetrics().height() + 10) + 60, window_.height() - 120);
  setGeometry((window_.width() - width) / 2, 64, width, height);
  show();
  raise();
  line_->setFocus(Qt::ShortcutFocusReason);
}

void CommandPalette::list_entries() {
  entries_.clear();
  for (const Command& command : commands_of(window_))
    entries_.push_back({command.text, command.where, command.keys, command.action, {}, {}, 0});
  if (const auto* settings = window_.findChild<SettingsPanel*>())
    for (const auto& [place, label] : settings->labels())
      entries_.push_back({label, tr("Settings: %1").arg(place), {}, {}, place, {}, 0});
  const auto add = [&](const ArrayRef& array) {
    entries_.push_back({title_of(array), tr("Select"), {}, {}, {}, array, 0});
  };
  add(InputRef{});
  add(OutputRef{});
  for (const ParameterInfo& info : workspace_.planner.parameters()) add(ParameterRef{info.path});
}

void CommandPalette::show_matches() {
  const QString typed = line_->text().trimmed();
  std::vector<const Entry*> fitting;
  for (Entry& entry : entries_) {
    entry.score = std::max(match_score(typed, entry.text), match_score(typed, entry.where + " " + entry.text) - 4);
    if (entry.score < 0) continue;
    if (entry.action && !entry.action->isEnabled()) entry.score -= 1000;  // behind what can be done
    fitting.push_back(&entry);
  }
  std::ranges::stable_sort(fitting, std::greater(), &Entry::score);
  if (fitting.size() > most_shown) fitting.resize(most_shown);
  list_->clear();
  for (const Entry* entry : fitting) show_entry(*entry);
  list_->setVisible(!fitting.empty());
  nothing_->setVisible(fitting.empty());
  list_->setCurrentRow(0);
}

void CommandPalette::show_entry(const Entry& entry) {
  auto* item = new QListWidgetItem(list_);
  item->setData(entry_role, static_cast<qulonglong>(&entry - entries_.data()));
  item->setSizeHint({0, fontMetrics().height() + 10});
  item->setData(Qt::AccessibleTextRole, entry.where + " " + entry.text + " " + entry.keys);
  item->setText(entry.text);
  item->setData(where_role, entry.where);
  item->setData(keys_role, entry.keys);
  if (entry.action && !entry.action->isEnabled()) item->setFlags(Qt::NoItemFlags);
}

void CommandPalette::choose(QListWidgetItem* item) {
  if (!item || !item->flags()) return;
  const Entry entry = entries_.at(item->data(entry_role).toULongLong());
  close_and_return();
  if (entry.action) return entry.action->trigger();
  if (!entry.place.isEmpty()) return emit placeWanted(entry.place);
  workspace_.selection.select_array(entry.array);
}

void CommandPalette::close_and_return() {
  hide();
  if (before_) before_->setFocus(Qt::OtherFocusReason);
}

bool CommandPalette::eventFilter(QObject* watched, QEvent* event) {
  if (watched != line_) return QFrame::eventFilter(watched, event);
  if (event->type() == QEvent::FocusOut && isVisible()) hide();
  if (event->type() != QEvent::KeyPress) return false;
  switch (static_cast<QKeyEvent*>(event)->key()) {
    case Qt::Key_Escape: close_and_return(); return true;
    case Qt::Key_Return:
    case Qt::Key_Enter: choose(list_->currentItem()); return true;
    case Qt::Key_Up:
    case Qt::Key_Down:
    case Qt::Key_PageUp:
    case Qt::Key_PageDown: QApplication::sendEvent(list_, event); return true;
    default: return false;
  }
}

}  // namespace shardscope
