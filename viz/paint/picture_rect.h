#pragma once

namespace shardscope {

// A rectangle of a picture: x to the right, y down, in the unit that the picture states.
struct PictureRect {
  double x = 0, y = 0, width = 0, height = 0;

  double right() const { return x + width; }
  double bottom() const { return y + height; }
  bool contains(double px, double py) const { return px >= x && px < right() && py >= y && py < bottom(); }
  bool operator==(const PictureRect&) const = default;
};

// `inner`, given in the unit square, placed inside `outer`.
inline PictureRect place_in(const PictureRect& inner, const PictureRect& outer) {
  return {outer.x + inner.x * outer.width, outer.y + inner.y * outer.height, inner.width * outer.width,
          inner.height * outer.height};
}

// The largest rectangle of width / height = `aspect` in `outer`, at its top left.
inline PictureRect fit(double aspect, const PictureRect& outer) {
  PictureRect inner = outer;
  if (outer.width > outer.height * aspect) {
    inner.width = outer.height * aspect;
  } else {
    inner.height = outer.width / aspect;
  }
  return inner;
}

}  // namespace shardscope
