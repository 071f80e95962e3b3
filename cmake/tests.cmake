# The tests, one program for each folder of tests/. Those of apps are in their app.cmake.
if(QKV_BUILD_TESTS)
  enable_testing()
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()
if(QKV_SANITIZE)
  # All but those that only run longer what others run too.
  string(JOIN ":" left_out *LabEffectTest* *LabTest.TakesTheLeastOfEachOption*
         *LabTest.ShowsTheNumbersThatItShowed* LabVerbTest.TwoAtOnceShareAFolderOfRuns
         LabVerbTest.WhatIsUnreadableIsTrainedAgain LabVerbTest.AStopKeepsTheModelsThatAreFinished
         MutationTest.EveryMutantOfEveryOpIsCaught *EveryKeyTest*
         BeamSearchTest.AnAnswerThatHasEndedTakesNoPlaceInTheBeam
         BeamSearchTest.EveryHypothesisHasTheProbabilityThatTheModelGivesIt
         ModelExamplesTest.GradientsOfBothOrdersAreRight FalseAlarmTest.*
         LargeInputTest.FindsTheOneElementThatIsALittleOff VerdictTest.* GradcheckF32Test.* HiddenTest.*
         CompositionTest.* ResolutionTest.* CancellationTest.* Both/NoDerivativeTest.* FittedPageTest.*
         FindQuestionTest.EveryQuestionIsFound StepForecastTest.MemoryIsForeseenForEveryShapeOfTheBench)
endif()
# qkv_test(FOLDER LIBRARY…): one test program of tests/FOLDER/**/*.cc. Those of the command line and of apps run the
# programs as a person does.
function(qkv_test folder)
  if(NOT QKV_BUILD_TESTS OR QKV_SANITIZE_THREADS)
    return()
  endif()
  string(REPLACE "/" "_" name ${folder})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS tests/${folder}/*.cc)
  list(FILTER sources EXCLUDE REGEX "/(fuzz(er|_.*)|count_bytes)\\.cc$")  # of other programs
  add_executable(${name}_test ${sources})
  if(folder MATCHES "^(cli|apps/.*)$" AND TARGET qkv)
    target_link_libraries(${name}_test PRIVATE qkv_test_kit nlohmann_json::nlohmann_json GTest::gmock)
    target_compile_definitions(${name}_test PRIVATE QKV_BINARY="$<TARGET_FILE:qkv>")
    add_dependencies(${name}_test qkv)
    string(REPLACE "apps/" "qkv-" program ${folder})
    if(TARGET ${program})
      add_dependencies(${name}_test ${program})
    endif()
  endif()
  compile_folders_together(${name}_test)
  target_include_directories(${name}_test PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${name}_test PRIVATE ${ARGN} GTest::gtest_main qkv_options)
  target_compile_definitions(${name}_test PRIVATE QKV_SOURCE_DIR="${CMAKE_CURRENT_SOURCE_DIR}"
                             QKV_BINARY_DIR="${CMAKE_CURRENT_BINARY_DIR}")
  # What takes time to run is in the libraries; a test takes more to optimize than to run.
  target_compile_options(${name}_test PRIVATE ${native_options} -O0 -fopenmp-simd)
  if(name STREQUAL "framework")
    target_precompile_headers(framework_test PRIVATE
      <algorithm> <cmath> <cstdint> <functional> <limits> <map> <memory> <optional> <set> <span>
      <string> <string_view> <utility> <vector> <absl/strings/str_cat.h>
      <absl/strings/str_format.h> <gtest/gtest.h> <gmock/gmock.h>)
  else()
    target_precompile_headers(${name}_test REUSE_FROM framework_test)
  endif()
  # Tests run beside each other: a thread that waits must not spin on the other's processor.
  if(QKV_SANITIZE)
    set(program ${CMAKE_CURRENT_BINARY_DIR}/${name}_test)
    configure_file(cmake/suites.cmake.in ${name}_suites.cmake @ONLY)
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES
                 ${CMAKE_CURRENT_BINARY_DIR}/${name}_suites.cmake)
  else()
    set(labels)
    if(name MATCHES "framework|models|golden|apps_check")
      set(labels LABELS numbers)  # those of ./test --avx2, here and where tests of Python and of docs/ are added
    endif()
    gtest_discover_tests(${name}_test DISCOVERY_TIMEOUT 60
                         PROPERTIES TIMEOUT 1800 ENVIRONMENT OMP_WAIT_POLICY=passive ${labels})
  endif()
endfunction()

if(QKV_BUILD_TESTS AND NOT QKV_SANITIZE_THREADS)
  # What starts programs, for the tests of the command line.
  add_library(qkv_test_kit STATIC tests/process.cc)
  target_link_libraries(qkv_test_kit PUBLIC absl::strings GTest::gtest qkv_options)
  target_include_directories(qkv_test_kit PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
endif()
qkv_test(framework qkv::gradcheck GTest::gmock DNNL::dnnl ${CMAKE_DL_LIBS})
qkv_test(models qkv::models qkv::gradcheck)
qkv_test(data qkv::data ZLIB::ZLIB PNG::PNG ${TURBOJPEG_LIBRARY} GTest::gmock)
qkv_test(train qkv::train qkv::gradcheck PNG::PNG nlohmann_json::nlohmann_json GTest::gmock)
qkv_test(cli qkv::cli PNG::PNG)
qkv_test(golden qkv::train)
qkv_test(architecture GTest::gmock)
qkv_test(fuzz qkv::train ZLIB::ZLIB)
