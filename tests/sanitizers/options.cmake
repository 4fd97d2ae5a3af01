# For sanitizer builds: the environment of the tests, in which the first finding ends a process unless one of the files
# beside this one names its library; more time; not the training at full size; and under the thread sanitizer only the
# rooms that run in threads.
set(test_timeout 600)
set(sanitizer_environment "")
if(SHARDSCOPE_SANITIZE)
  set(test_timeout 2400)
  list(FILTER tests EXCLUDE REGEX "/parity/[^/]*$")
endif()
if(SHARDSCOPE_SANITIZE MATCHES address)
  list(APPEND sanitizer_environment "ASAN_OPTIONS=detect_leaks=1"
    "LSAN_OPTIONS=suppressions=${CMAKE_CURRENT_LIST_DIR}/lsan.supp:print_suppressions=0")
endif()
if(SHARDSCOPE_SANITIZE MATCHES undefined)
  list(APPEND sanitizer_environment "UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1")
endif()
if(SHARDSCOPE_SANITIZE MATCHES thread)
  list(APPEND sanitizer_environment
    "TSAN_OPTIONS=suppressions=${CMAKE_CURRENT_LIST_DIR}/tsan.supp:halt_on_error=1:die_after_fork=0")
  list(FILTER tests INCLUDE REGEX "/(comm|runtime|worker|session|laws|gui)/[^/]*$")
endif()
