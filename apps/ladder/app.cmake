qkv_app(ladder)
if(QKV_BUILD_TESTS AND NOT QKV_SANITIZE AND NOT QKV_SANITIZE_THREADS)
  include(cmake/test_names.cmake)
  file(GLOB tests CONFIGURE_DEPENDS tests/apps/ladder/*_test.py)
  foreach(file IN LISTS tests)  # skipped without NumPy, and without the package of apps/python
    test_name(name Ladder ${file})
    add_test(NAME ${name} COMMAND /usr/bin/python3 -B ${file})
    set_tests_properties(${name} PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77
      ENVIRONMENT "PYTHONPATH=${CMAKE_CURRENT_BINARY_DIR}/python;OMP_WAIT_POLICY=passive")
  endforeach()
endif()
