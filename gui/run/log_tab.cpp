#include "gui/run/log_tab.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/look/field_guard.h"

namespace shardscope {
namespace {

constexpr int all = -100;    // no rank
constexpr int no_rank = -1;  // the launcher, and the process that watches
constexpr int most_lines = 5000;

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
  auto* bar = new QHBoxLayout;
  bar->setContentsMargins(8, 4, 8, 2);
  bar->addWidget(new QLabel(tr("Lines of"), this));
  bar->addWidget(speaker_);
  bar->addStretch(1);
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
  speaker_->addItem(tr("all"), all);
  shown_ = 0;
  refresh();
}

// In the order of their ranks.
void LogTab::add_speaker(int rank) {
  if (speaker_->findData(rank) >= 0) return;
  int place = 1;
  while (place < speaker_->count() && speaker_->itemData(place).toInt() < rank) ++place;
  const QSignalBlocker block(speaker_);
  speaker_->insertItem(place, rank == no_rank ? tr("shardrun") : tr("rank %1").arg(rank), rank);
}

void LogTab::refresh() {
  const std::vector<LogMessage>& log = run_.record().log;
  const int64_t dropped = run_.record().log_dropped;
  const int64_t told = dropped + std::ssize(log);
  if (told < shown_) return show_anew();
  const int wanted = speaker_->currentData().toInt();
  QStringList lines;
  for (shown_ = std::max(shown_, dropped); shown_ < told; ++shown_) {
    const LogMessage& message = log[static_cast<size_t>(shown_ - dropped)];
    const int speaker = speaker_of(message);
    add_speaker(speaker);
    if (wanted != all && wanted != speaker) continue;
    const bool names_rank = wanted == all && speaker != no_rank;
    lines << (names_rank ? QString("[%1] %2").arg(speaker).arg(qt(message.text)) : qt(message.text));
  }
  if (!lines.isEmpty()) text_->appendPlainText(lines.join('\n'));
}

}  // namespace shardscope
