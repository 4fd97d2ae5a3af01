#include "gui/run/log_tab.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <QVBoxLayout>
#include <algorithm>
#include <iterator>
#include <utility>

#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/look/field_guard.h"
#include "gui/look/filled_layout.h"
#include "gui/planning/later_iteration.h"

namespace shardscope {
namespace {

constexpr int all = -100;    // no rank
constexpr int no_rank = -1;  // the launcher, and the process that watches
constexpr int most_lines = 5000;
constexpr qsizetype most_shown = 256 << 10;  // characters in one event-loop iteration
constexpr qsizetype line_price = 40;         // a line takes as long as so many characters
constexpr size_t most_added = 500;           // speakers likewise

int speaker_of(const LogMessage& message) { return std::max(message.rank, no_rank); }

}  // namespace

LogTab::LogTab(RunControl& run, QWidget* parent)
    : QWidget(parent), run_(run), speaker_(new QComboBox(this)), text_(new QPlainTextEdit(this)) {
  speaker_->setObjectName("logRank");
  speaker_->setToolTip(tr("Whose lines are shown."));
  speaker_->setAccessibleName(tr("Lines of"));
  guard_field(speaker_);
  text_->setObjectName("log");
  text_->setAccessibleName(tr("Log"));
  text_->setReadOnly(true);
  text_->setFont(monospace_font());
  text_->setMaximumBlockCount(most_lines);
  text_->setLineWrapMode(QPlainTextEdit::NoWrap);
  text_->setFrameShape(QFrame::NoFrame);
  text_->setPlaceholderText(tr("What shardrun and the ranks print appears here."));
  auto* bar = filled(bordered(new QHBoxLayout, {8, 4, 8, 2}), {new QLabel(tr("Lines of"), this), speaker_, spacer});
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  layout->addLayout(bar);
  layout->addWidget(text_, 1);
  show_anew();
  connect(speaker_, &QComboBox::currentIndexChanged, this, [this] {
    text_->clear();
    shown_ = 0;
    refresh();
  });
  connect(&run, &RunControl::received, this, &LogTab::refresh);
  connect(&run, &RunControl::stateChanged, this, &LogTab::refresh);
}

void LogTab::show_anew() {
  const QSignalBlocker block(speaker_);
  text_->clear();
  speaker_->clear();
  speakers_.clear();
  speaker_->addItem(tr("all"), all);
  shown_ = 0;
  refresh();
}

// In the order of their ranks.
void LogTab::add_speaker(int rank) {
  const auto [at, is_new] = speakers_.insert(rank);
  if (!is_new) return;
  const int place = 1 + static_cast<int>(std::distance(speakers_.begin(), at));
  const QSignalBlocker block(speaker_);
  speaker_->insertItem(place, rank == no_rank ? tr("shardrun") : tr("rank %1").arg(rank), rank);
}

void LogTab::refresh() {
  const std::vector<LogMessage>& log = run_.record().log;
  const int64_t dropped = run_.record().log_dropped;
  const int64_t reported = dropped + std::ssize(log);
  if (reported < shown_) return show_anew();
  const int wanted = speaker_->currentData().toInt();
  QStringList lines;
  qsizetype length = 0;
  const size_t speakers = speakers_.size() + most_added;
  for (shown_ = std::max(shown_, dropped); shown_ < reported && length < most_shown && speakers_.size() < speakers;
       ++shown_) {
    const LogMessage& message = log[static_cast<size_t>(shown_ - dropped)];
    const int speaker = speaker_of(message);
    add_speaker(speaker);
    if (wanted != all && wanted != speaker) continue;
    const bool names_rank = wanted == all && speaker != no_rank;
    lines << (names_rank ? QString("[%1] %2").arg(speaker).arg(qt(message.text)) : qt(message.text));
    length += lines.back().size() + line_price * (1 + lines.back().count('\n'));
  }
  if (!lines.isEmpty()) text_->appendPlainText(lines.join('\n'));
  if (shown_ == reported || std::exchange(goes_on_, true)) return;
  in_later_iteration(this, [this] {
    goes_on_ = false;
    refresh();
  });
}

}  // namespace shardscope
