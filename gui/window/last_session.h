#pragma once

#include <QString>

namespace shardscope {

// What was open when the window was closed last, in the user's settings.
struct LastSession {
  QString path;   // of the run file; empty: a draft
  QString page;   // its title
  QString array;  // that was selected, by name
};

void remember_session(const LastSession& session);
// With no path where the file is not there any more.
LastSession last_session();

}  // namespace shardscope
