# Each program of tools/ in its smallest form, so that none stops working unseen; tests/docs/tools_test.py holds that
# there is no other.
add_test(NAME Mistakes.HaveTheirPlaceInTheSources
         COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/tools/check/plant-mistakes --check)
add_test(NAME Mistakes.AreDrawnByChance
         COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/tools/check/plant-mistakes --random 20 --seed 1 --list)
set_tests_properties(Mistakes.AreDrawnByChance PROPERTIES PASS_REGULAR_EXPRESSION "\n20  [^\n]* ==>")
# With -S, Python sees no module that was installed.
add_test(NAME ToPytorch.SaysWhatItNeeds
         COMMAND ${Python3_EXECUTABLE} -S ${CMAKE_CURRENT_SOURCE_DIR}/tools/to-pytorch.py run)
set_tests_properties(ToPytorch.SaysWhatItNeeds PROPERTIES
                     PASS_REGULAR_EXPRESSION "^error: [^\n]* has no module numpy; install "
                     FAIL_REGULAR_EXPRESSION "Traceback")
add_test(NAME Tools.EachIsStarted COMMAND ${Python3_EXECUTABLE} -B ${docs_tests}/tools_test.py)
if(TARGET qkv AND NOT QKV_SANITIZE)
  function(tool_test name)
    add_test(NAME Tools.${name} COMMAND ${ARGN} WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    set_tests_properties(Tools.${name} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77
      ENVIRONMENT "QKV=$<TARGET_FILE:qkv>;OMP_WAIT_POLICY=passive;ROUNDS=1;STEPS=2;CONFIGS=configs/reverse.toml")
  endfunction()
  tool_test(BenchTable tools/measure bench-table --qkv $<TARGET_FILE:qkv> --shapes toy --precisions f32 --steps 2 --rounds 1)
  tool_test(Beside tools/measure time-beside --qkv $<TARGET_FILE:qkv> --steps 2 --rounds 1 --others 1)
  tool_test(BenchRegress tools/measure bench-regress $<TARGET_FILE_DIR:qkv> $<TARGET_FILE_DIR:qkv> toy)
  tool_test(SameBits tools/check/same-bits $<TARGET_FILE_DIR:qkv> $<TARGET_FILE_DIR:qkv>)
  set_tests_properties(Tools.SameBits PROPERTIES PASS_REGULAR_EXPRESSION "addition     bf16 [^\n]* the same bits")
  tool_test(DoctorConfigs tools/check/doctor-configs 60)
  tool_test(OpsVsPytorch sh -c "export PYTHONPATH=${CMAKE_CURRENT_BINARY_DIR}/python
                                /usr/bin/python3 -c 'import qkv, torch' || exit 77
                                exec /usr/bin/python3 tools/measuring/ops-vs-pytorch 1")
  tool_test(LearningTable tools/measure learning-table --only no_such_row --out ${CMAKE_CURRENT_BINARY_DIR}/learning-table)
  set_tests_properties(Tools.LearningTable PROPERTIES PASS_REGULAR_EXPRESSION "^error: there is no row no_such_row")
endif()
