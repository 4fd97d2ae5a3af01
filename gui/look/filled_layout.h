#pragma once

#include <QBoxLayout>
#include <QMargins>
#include <initializer_list>

namespace shardscope {

// What stands in a row or column: a widget, a row or column of its own, or a spacer; with its share of the space that
// is left over.
struct LayoutPart {
  LayoutPart(QWidget* of, int share_by = 0) : widget(of), share(share_by) {}
  LayoutPart(QLayout* of, int share_by = 0) : layout(of), share(share_by) {}
  static LayoutPart spacer_of(int share) { return LayoutPart(static_cast<QWidget*>(nullptr), share); }

  QWidget* widget = nullptr;
  QLayout* layout = nullptr;
  int share = 0;
};
inline const LayoutPart spacer = LayoutPart::spacer_of(1);

// The layout with these parts, in this order:
//
//   filled(tight(new QVBoxLayout(this)), {bar, {table_, 1}, note_});
template <class Layout>
Layout* filled(Layout* layout, std::initializer_list<LayoutPart> parts) {
  for (const LayoutPart& part : parts) {
    if (part.layout) layout->addLayout(part.layout, part.share);
    else if (part.widget) layout->addWidget(part.widget, part.share);
    else layout->addStretch(part.share);
  }
  return layout;
}

// Without space around its parts or between them.
template <class Layout>
Layout* tight(Layout* layout) {
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  return layout;
}

// With these margins around its parts, and so much space between them.
template <class Layout>
Layout* bordered(Layout* layout, const QMargins& margins) {
  layout->setContentsMargins(margins);
  return layout;
}
template <class Layout>
Layout* bordered(Layout* layout, const QMargins& margins, int spacing) {
  layout->setSpacing(spacing);
  return bordered(layout, margins);
}

}  // namespace shardscope
