# The fuzzers of tests/fuzz: one program, which libFuzzer gives one input after the other. The tests
# have the same targets in fuzz_test, which gives them their corpus.
if(QKV_BUILD_FUZZERS)
  # libFuzzer mutates what reaches new code, so it has to see which code is reached. What is compared
  # there it can do without, which takes half of the time: the dictionaries know the words.
  set(coverage -fsanitize=fuzzer-no-link -fno-sanitize-coverage=trace-cmp)
  foreach(library qkv_data qkv_train)
    target_compile_options(${library} PRIVATE ${coverage})
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS tests/fuzz/*.cc)
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  add_executable(fuzzer ${sources})
  target_compile_options(fuzzer PRIVATE ${coverage})
  target_link_options(fuzzer PRIVATE -fsanitize=fuzzer)
  target_link_libraries(fuzzer PRIVATE qkv_train qkv_options)
endif()
