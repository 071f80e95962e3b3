# What the pages of docs/ say is so: their links, the output that they show, every command of docs/course.md and of
# docs/stories.md; and that docs/course.zh.md has the lessons of docs/course.md.
set(docs_tests ${CMAKE_CURRENT_SOURCE_DIR}/tests/docs)
add_test(NAME Docs.EveryLinkLeadsSomewhere COMMAND ${Python3_EXECUTABLE} -B ${docs_tests}/links_test.py)
add_test(NAME Docs.HelpIsWhatTheVerbsPrint COMMAND ${Python3_EXECUTABLE} -B ${docs_tests}/help_page.py)
set_tests_properties(Docs.HelpIsWhatTheVerbsPrint PROPERTIES ENVIRONMENT "QKV=$<TARGET_FILE:qkv>")
add_test(NAME Docs.CountsAreThoseOfTheTree COMMAND ${Python3_EXECUTABLE} -B ${docs_tests}/counts_test.py)
add_test(NAME Architecture.SizesOnlyFall
         COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/tests/architecture/sizes_test.py)
add_test(NAME Course.IsTheSameInBothLanguages COMMAND ${Python3_EXECUTABLE} -B ${docs_tests}/course_test.py texts)
if(NOT QKV_SANITIZE AND CMAKE_GENERATOR STREQUAL "Ninja")
  add_test(NAME Docs.CommandsPrintWhatThePagesShow COMMAND ${Python3_EXECUTABLE} -B ${docs_tests}/blocks_test.py)
  add_test(NAME Stories.RunAsTheyAreWritten COMMAND ${Python3_EXECUTABLE} -B ${docs_tests}/course_test.py stories)
  set(run_commands Docs.CommandsPrintWhatThePagesShow Stories.RunAsTheyAreWritten)
  foreach(lesson RANGE 1 10)
    add_test(NAME Course.Lesson${lesson} COMMAND ${Python3_EXECUTABLE} -B ${docs_tests}/course_test.py ${lesson})
    list(APPEND run_commands Course.Lesson${lesson})
  endforeach()
  set_tests_properties(${run_commands} PROPERTIES TIMEOUT 600
                       ENVIRONMENT "QKV=$<TARGET_FILE:qkv>;OMP_WAIT_POLICY=passive")
  set_tests_properties(Docs.CommandsPrintWhatThePagesShow PROPERTIES LABELS numbers)
  # What the pages add, as patches: a copy of the tree is built with them, once; later what has changed.
  set(adding_test ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/tests/adding/adding_test.py)
  add_test(NAME Adding.ThePagesShowThePatches COMMAND ${adding_test} pages)
  add_test(NAME Adding.EachThingIsBuiltAndActs COMMAND ${adding_test} build ${CMAKE_CURRENT_BINARY_DIR}/adding)
  set_tests_properties(Adding.ThePagesShowThePatches Adding.EachThingIsBuiltAndActs PROPERTIES
                       TIMEOUT 3600 COST 20 SKIP_RETURN_CODE 77)
  set_tests_properties(Adding.EachThingIsBuiltAndActs PROPERTIES PROCESSORS 2)
endif()
