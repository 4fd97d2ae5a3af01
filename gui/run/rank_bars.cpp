#include "gui/run/rank_bars.h"

#include <QMouseEvent>
#include <QPaintEvent>
#include <QPainter>
#include <algorithm>

#include "engine/base/units.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/look/empty_state.h"
#include "viz/paint/tone_painter.h"

namespace shardscope {
namespace {

constexpr int top = 28;
constexpr int row_height = 22;
constexpr int left = 132;
constexpr int right = 300;

// As wide as it is drawn, whatever a run says that it took.
double drawn_ms(double ms) { return ms > 0 ? std::min(ms, 1e15) : 0; }

double total_ms(const RankMeasurement& rank) {
  double ms = 0;
  for (size_t i = 0; i < step_phases; ++i) ms += drawn_ms(rank.busy_ms[i]) + drawn_ms(rank.wait_ms[i]);
  return ms;
}

}  // namespace

RankBars::RankBars(RunControl& run, Selection& selection, QWidget* parent)
    : TipWidget(parent), run_(run), selection_(selection) {
  setObjectName("rankBars");
  connect(&run, &RunControl::received, this, [this] {
    setMinimumHeight(sizeHint().height());
    update();
  });
  connect(&selection, &Selection::deviceChanged, this, qOverload<>(&QWidget::update));
}

int RankBars::rows() const {
  const RunRecord& run = run_.record();
  return static_cast<int>(std::max(run.ranks.size(), run.measurements().size()));
}

QSize RankBars::sizeHint() const { return {500, top + rows() * row_height + 8}; }

std::optional<int> RankBars::rank_under(const QPointF& point) const {
  const int rank = static_cast<int>((point.y() - top) / row_height);
  return point.y() >= top && rank < rows() ? std::optional(rank) : std::nullopt;
}

void RankBars::paintEvent(QPaintEvent* event) {
  QPainter painter(this);
  painter.fillRect(rect(), theme().base);
  if (rows() == 0)
    return paint_empty_state(painter, rect(), tr("No ranks"), tr("Press Train to start one rank per device."));
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setFont(small_font());
  const RunRecord& run = run_.record();
  double longest = 1e-9;
  for (const RankMeasurement& rank : run.measurements()) longest = std::max(longest, total_ms(rank));
  const double room = std::max(40, width() - left - right);
  const auto column = [&](int x, int y, int wide, const QString& text, Qt::Alignment side) {
    painter.drawText(QRectF(x, y, wide, row_height), side | Qt::AlignVCenter, text);
  };
  painter.setPen(theme().muted);
  column(8, 4, 40, tr("rank"), Qt::AlignLeft);
  column(60, 4, 64, tr("state"), Qt::AlignLeft);
  column(left, 4, 300, tr("by phase: work, kept from it (pale), waiting for peers (hatched)"), Qt::AlignLeft);
  const int at = width() - right + 8;
  column(at, 4, 88, tr("arena"), Qt::AlignRight);
  column(at + 94, 4, 88, tr("sent a step"), Qt::AlignRight);
  column(at + 188, 4, 88, tr("outside"), Qt::AlignRight);
  const int first = std::max(0, (event->rect().top() - top) / row_height);
  const int last = std::min(rows() - 1, (event->rect().bottom() - top) / row_height);
  for (int rank = first; rank <= last; ++rank) {
    const int y = top + rank * row_height;
    if (rank == selection_.device())
      painter.fillRect(QRectF(0, y, width(), row_height), mix(theme().base, theme().accent, 0.14));
    if (run_.plan() && rank < run_.plan()->mesh.device_count())
      paint_tones(painter, QRectF(34, y + 5, 12, 12), device_tones(run_.plan()->mesh, rank), theme());
    const bool failed = run.failure && run.failure->rank == rank;
    painter.setPen(theme().text);
    column(8, y, 24, QString::number(rank), Qt::AlignLeft);
    painter.setPen(failed ? theme().error : theme().muted);
    column(60, y, 70, qt(run.state_of(rank)), Qt::AlignLeft);
    const RankMeasurement* measured = run.measurement(rank);
    if (!measured) continue;
    double x = left;
    for (size_t phase = 0; phase < step_phases; ++phase) {
      const QColor fill = phase_color(static_cast<Phase>(phase), theme());
      const double busy = drawn_ms(measured->busy_ms[phase]) / longest * room;
      const double wait = drawn_ms(measured->wait_ms[phase]) / longest * room;
      const double work = std::min(busy, drawn_ms(measured->cpu_ms[phase]) / longest * room);
      painter.fillRect(QRectF(x, y + 4, work, row_height - 8), fill);
      painter.fillRect(QRectF(x + work, y + 4, busy - work, row_height - 8), mix(fill, theme().base, 0.4));
      const QRectF waiting(x + busy, y + 4, wait, row_height - 8);
      painter.fillRect(waiting, mix(fill, theme().base, 0.65));
      if (wait > 2) paint_hatch(painter, waiting, theme());
      x += busy + wait;
    }
    painter.setPen(theme().text);
    column(at, y, 88, qt(bytes_text(double(measured->arena_bytes))), Qt::AlignRight);
    column(at + 94, y, 88, qt(bytes_text(measured->wire_bytes)), Qt::AlignRight);
    column(at + 188, y, 88,
           measured->outside_bytes ? qt(bytes_text(double(measured->outside_bytes))) : QString("\u2013"),
           Qt::AlignRight);
  }
}

QString RankBars::tip_at(const QPointF& point) {
  const std::optional<int> rank = rank_under(point);
  const RankMeasurement* measured = rank ? run_.record().measurement(*rank) : nullptr;
  if (!measured) return {};
  QStringList lines{tr("Rank %1").arg(*rank)};
  const auto& ranks = run_.record().ranks;
  if (*rank < std::ssize(ranks))
    lines << tr("process %1, %2").arg(ranks[*rank].pid).arg(qt(run_.record().state_of(*rank)));
  for (size_t phase = 0; phase < step_phases; ++phase) {
    if (static_cast<Phase>(phase) == Phase::recompute && measured->busy_ms[phase] == 0) continue;
    lines << tr("%1: %2 ms work, %3 ms kept from it (preempted, or for its own threads), %4 ms waiting for peers")
                 .arg(qt(name(static_cast<Phase>(phase))))
                 .arg(measured->cpu_ms[phase], 0, 'f', 2)
                 .arg(measured->busy_ms[phase] - measured->cpu_ms[phase], 0, 'f', 2)
                 .arg(measured->wait_ms[phase], 0, 'f', 2);
  }
  lines << tr("arena %1").arg(qt(exact_bytes(double(measured->arena_bytes))));
  lines << tr("outside it %1, as the kernel counts; of the heap since training began %2")
               .arg(measured->outside_bytes ? qt(exact_bytes(double(measured->outside_bytes))) : tr("unknown"),
                    qt(exact_bytes(double(measured->heap_bytes))));
  lines << tr("sent in a step %1, by the ring convention").arg(qt(exact_bytes(measured->wire_bytes)));
  if (measured->moved_bytes >= 0)
    lines << tr("moved in a step %1, counted at the transport").arg(qt(exact_bytes(double(measured->moved_bytes))));
  return lines.join('\n');
}

void RankBars::mousePressEvent(QMouseEvent* event) {
  if (const std::optional<int> rank = rank_under(event->position())) selection_.select_device(*rank);
}

}  // namespace shardscope
