# Of ctest's log (Testing/Temporary/LastTest.log): which tests were skipped, and why; as `./run test` says it at its end.
#
#   SKIP   : event_file_test::EventFileTest::reads_back(a row) Python has no package tensorboard
/^SKIP   : / {
  text = substr($0, 10)
  split(text, words, " ")
  name = words[1]
  sub(/^.*::/, "", name)              # function, and the beginning of the row's name
  test = words[1]
  sub(/::[^:]*$/, "", test)           # program and class
  sub(/::[^:]*$/, "", test)
  reason = substr(text, index(text, ") ") + 2)
  if (!((test, reason) in count)) order[++reasons] = test SUBSEP reason
  if (++count[test, reason] == 1) first[test, reason] = name
}
END {
  if (reasons == 0) exit
  print "Skipped:"
  for (i = 1; i <= reasons; ++i) {
    split(order[i], pair, SUBSEP)
    sub(/\(.*/, "", first[order[i]])
    more = count[order[i]] > 1 ? " and " count[order[i]] - 1 " more" : ""
    printf "  %s %s%s: %s\n", pair[1], first[order[i]], more, pair[2]
  }
}
