#pragma once

#include <QTabWidget>

namespace shardscope {

// What the middle of the window asks of a page; its widget has this interface beside QWidget, as far as it differs.
// gui/window/page_list.cpp registers it.
class Page {
 public:
  virtual ~Page() = default;

  // It waits for nothing: for no plan of its own, for nothing that is made of the plan, and for no picture.
  virtual bool is_settled() const { return true; }
  // Before a picture is made of it: `seen` is the same page of the window, or null. What that has besides the plan,
  // such as pinned plans or a search, this takes over.
  virtual void begin_picture(const Page* /*seen*/) {}
  // A page of tabs, of which a picture has the one in front; else null.
  virtual QTabWidget* tabs() { return nullptr; }
};

}  // namespace shardscope
