#include "viz/paint/timeline_image.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace shardscope {
namespace {

constexpr int parted = 5;     // pixels of a slice that is reported from the next one
constexpr int least_bar = 2;  // pixels

struct Mixture {
  std::array<float, 3> sum{};
  float rest = 1;

  void add(QRgb color, float share) {
    sum[0] += share * static_cast<float>(qRed(color));
    sum[1] += share * static_cast<float>(qGreen(color));
    sum[2] += share * static_cast<float>(qBlue(color));
    rest -= share;
  }
  QRgb over(QRgb background) const {
    Mixture all = *this;
    all.add(background, std::max(0.0f, rest));
    const auto byte = [&](int i) { return std::clamp(static_cast<int>(all.sum[size_t(i)] + 0.5f), 0, 255); };
    return qRgb(byte(0), byte(1), byte(2));
  }
};

// Of a stream that moves data beside work.
bool is_partly_exposed(const TrackColumn& column) {
  const float exposed = column.share[size_t(TimePart::transfer)];
  return exposed > 0 && exposed < 1 && column.share[size_t(TimePart::work)] == 0 &&
         column.share[size_t(TimePart::waiting)] == 0;
}

struct Bar {
  int height = 0;  // pixels, from below
  QRgb color = 0;
};

}  // namespace

void paint_track(QImage& image, const QRect& place, const TimelineTrack& track, double begin, double end,
                 const TrackInk& ink) {
  const QRect seen = place & image.rect();
  if (seen.isEmpty() || place.width() <= 0) return;
  const std::vector<TrackColumn> columns = track.columns(begin, end, place.width());
  std::vector<QRgb> high(columns.size()), low(columns.size());
  std::vector<Bar> bars(columns.size());
  int run = 0;
  for (size_t i = 0; i < columns.size(); ++i) {
    const TrackColumn& column = columns[i];
    const TrackSlice* most = column.longest < 0 ? nullptr : &track.slices()[size_t(column.longest)];
    const auto color = [&](TimePart part, QRgb otherwise) {
      const bool is_known = most && most->part == part && size_t(most->step) < ink.of_step.size();
      return is_known ? ink.of_step[size_t(most->step)] : otherwise;
    };
    Mixture mixture;
    mixture.add(color(TimePart::work, ink.work), column.share[size_t(TimePart::work)]);
    const float exposed = column.share[size_t(TimePart::transfer)];
    if (is_partly_exposed(column)) {
      const int height = static_cast<int>(std::lround(static_cast<float>(place.height()) * exposed));
      bars[i] = {std::max(least_bar, height), color(TimePart::transfer, ink.transfer)};
    } else {
      mixture.add(color(TimePart::transfer, ink.transfer), exposed);
    }
    const float hidden = column.share[size_t(TimePart::hidden)] * static_cast<float>(pale);
    mixture.add(color(TimePart::hidden, ink.transfer), hidden);
    high[i] = mixture.over(ink.background);
    mixture.add(ink.waiting, column.share[size_t(TimePart::waiting)]);
    low[i] = mixture.over(ink.background);
    const bool goes_on = i + 1 < columns.size() && columns[i + 1].longest == column.longest;
    ++run;
    if (goes_on) continue;
    if (most && run >= parted) {
      for (QRgb* end_of : {&high[i], &low[i]}) {
        Mixture paler;
        paler.add(*end_of, 0.35f);
        *end_of = paler.over(ink.background);
      }
      const size_t begin_of = i + 1 - size_t(run);
      if (most->part == TimePart::waiting) high[begin_of] = low[begin_of] = ink.arrival;
    }
    run = 0;
  }
  const int lower = place.top() + place.height() - static_cast<int>(std::lround(place.height() * low_share));
  const auto bytes = static_cast<size_t>(seen.width()) * sizeof(QRgb);
  for (int y = seen.top(); y <= seen.bottom(); ++y) {
    const std::vector<QRgb>& line = y < lower ? high : low;
    std::memcpy(reinterpret_cast<QRgb*>(image.scanLine(y)) + seen.left(), line.data() + (seen.left() - place.left()),
                bytes);
  }
  for (int x = seen.left(); x <= seen.right(); ++x) {
    const Bar& bar = bars[static_cast<size_t>(x - place.left())];
    for (int y = std::max(seen.top(), place.bottom() + 1 - bar.height); y <= seen.bottom(); ++y)
      reinterpret_cast<QRgb*>(image.scanLine(y))[x] = bar.color;
  }
}

}  // namespace shardscope
