#pragma once

#include <QRectF>
#include <algorithm>

namespace shardscope {

// How much a picture is enlarged, and where to it is moved: a point p of the picture that fits its room is seen at
// p * scale + shift. At scale 1 it is where it fits.
class PictureZoom {
 public:
  double scale() const { return scale_; }
  bool is_whole() const { return scale_ <= 1; }
  QRectF apply(const QRectF& place) const {
    return {place.x() * scale_ + shift_.x(), place.y() * scale_ + shift_.y(), place.width() * scale_,
            place.height() * scale_};
  }

  void show_all() { *this = PictureZoom(); }
  // About a point that stays where it is.
  void zoom(double factor, const QPointF& about, double largest) {
    const double scale = std::clamp(scale_ * factor, 1.0, std::max(1.0, largest));
    shift_ = about - (about - shift_) * (scale / scale_);
    scale_ = scale;
    if (is_whole()) show_all();
  }
  void pan(const QPointF& by) {
    if (!is_whole()) shift_ += by;
  }
  // Keeps the picture that fits `place` from leaving `room`.
  void keep_in(const QRectF& place, const QRectF& room) {
    if (is_whole()) return;
    const QRectF seen = apply(place);
    const auto correction = [](double low, double high, double room_low, double room_high) {
      if (high - low <= room_high - room_low) return (room_low + room_high - low - high) / 2;
      return std::min(0.0, room_low - low) + std::max(0.0, room_high - high);
    };
    shift_ += {correction(seen.left(), seen.right(), room.left(), room.right()),
               correction(seen.top(), seen.bottom(), room.top(), room.bottom())};
  }
  // So that a part of the picture is seen.
  void reveal(const QRectF& part, const QRectF& room) {
    if (is_whole()) return;
    const QRectF seen = apply(part);
    const auto correction = [](double low, double high, double room_low, double room_high) {
      return low < room_low ? room_low - low : high > room_high ? room_high - high : 0;
    };
    shift_ += {correction(seen.left(), seen.right(), room.left(), room.right()),
               correction(seen.top(), seen.bottom(), room.top(), room.bottom())};
  }

 private:
  double scale_ = 1;
  QPointF shift_;
};

}  // namespace shardscope
