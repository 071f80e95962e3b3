# The tests of the lesson page, in a browser: tests/apps/lesson/browser/changes_test.py is Page.Changes, and so on. One browser
# serves all tests of a file, each of which may be named to tests/apps/lesson/browser/run. Where there is no browser CTest
# reports them as skipped.
include(cmake/test_names.cmake)
file(GLOB page_tests CONFIGURE_DEPENDS tests/apps/lesson/browser/*_test.py)
foreach(file IN LISTS page_tests)
  test_name(name Page ${file})
  add_test(NAME ${name} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tests/apps/lesson/browser/run ${name})
  # They are among the longest: who begins with them does not wait for them in the end.
  set_tests_properties(${name} PROPERTIES TIMEOUT 1200 COST 10 SKIP_RETURN_CODE 77 ENVIRONMENT
    "QKV=$<TARGET_FILE:qkv>;QKV_PAGE_FOLDER=${CMAKE_CURRENT_BINARY_DIR}/page-tests")
endforeach()
