# For sanitizer builds: which tests run (not the training at full size; under the thread sanitizer only the modules that
# run in threads), their time, and their environment, in which the first finding ends a process; tsan.supp names what is
# not ours.
set(test_timeout 600)
set(sanitizer_environment "")
if(SHARDSCOPE_SANITIZE)
  set(test_timeout 2400)
  list(FILTER tests EXCLUDE REGEX "/parity/[^/]*$")
endif()
if(SHARDSCOPE_SANITIZE MATCHES undefined)
  list(APPEND sanitizer_environment "UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1")
endif()
if(SHARDSCOPE_SANITIZE MATCHES thread)
  list(APPEND sanitizer_environment
    "TSAN_OPTIONS=suppressions=${CMAKE_CURRENT_LIST_DIR}/tsan.supp:halt_on_error=1:die_after_fork=0")
  list(FILTER tests INCLUDE REGEX "/(comm|runtime|worker|session|laws|gui)/[^/]*$")
  # It keeps more memory than these allow, and cannot follow threads that forked ranks start.
  list(FILTER tests EXCLUDE REGEX "/(telemetry_load|step_meter|start_up_memory|checkpoint_kill)_test.cpp$")
endif()

# Open MPI unloads its plugins before leaks are looked for, so that no suppression can name what they keep. The tests
# that start real ranks therefore look for everything but leaks. What is freed is held back only where memory need not
# stay flat; and where ranks are harmed by signals these are theirs.
function(set_address_options test)
  if(NOT SHARDSCOPE_SANITIZE MATCHES address)
    return()
  endif()
  set(detect_leaks 1)
  if(test MATCHES "^((mpi|hosts|faults)/.*|cli/(checkpoint|commands|data_files|export|headless|soak|standard_stream|streams|train|train_outputs)_test|worker/mpi_worker_test|gui/(pipeline|training)_test)$")
    set(detect_leaks 0)
  endif()
  set(held_back "")
  if(test MATCHES "^(session/telemetry_load|cli/soak)_test$")
    set(held_back ":quarantine_size_mb=1")
  endif()
  set(signals "")
  if(test MATCHES "^faults/")
    set(signals ":handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:handle_abort=0")
  endif()
  set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT
    "ASAN_OPTIONS=detect_leaks=${detect_leaks}:verify_asan_link_order=0${held_back}${signals}")
endfunction()
