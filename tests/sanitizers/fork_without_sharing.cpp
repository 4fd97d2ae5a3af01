#include <sched.h>

#include <cstdarg>

// Linked into what starts programs, under ThreadSanitizer. QProcess (Qt 6.4) starts a program by clone(CLONE_VM |
// CLONE_VFORK); the sanitizer (GCC 12) then notes "in the child: ignore all synchronisation from here on" in memory
// that parent and child share, and from that moment reports whatever the parent's thread hands to another one through a
// mutex as a race. Here the child gets memory of its own.

extern "C" int __interceptor_clone(int (*)(void*), void*, int, void*, pid_t*, void*, pid_t*);

extern "C" int clone(int (*function)(void*), void* stack, int flags, void* argument, ...) noexcept {
  va_list more;
  va_start(more, argument);
  pid_t* parent = va_arg(more, pid_t*);
  void* storage = va_arg(more, void*);
  pid_t* child = va_arg(more, pid_t*);
  va_end(more);
  return __interceptor_clone(function, stack, flags & ~(CLONE_VM | CLONE_VFORK), argument, parent, storage, child);
}
