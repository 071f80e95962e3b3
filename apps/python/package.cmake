# The Python package: the module _qkv of binding/, beside the files of qkv/. Together they are the folder
# python/qkv of the build, and PYTHONPATH names the folder above it.

# Debian's pybind11 and NumPy are for Debian's Python, and another one may come first in the path.
if(NOT DEFINED Python_EXECUTABLE AND EXISTS /usr/bin/python3)
  set(Python_EXECUTABLE /usr/bin/python3)
endif()
if(QKV_PYTHON)
  set(needed REQUIRED)
else()
  set(needed QUIET)
endif()
find_package(Python ${needed} COMPONENTS Interpreter Development.Module)
find_package(pybind11 2.10 ${needed})
if(NOT Python_FOUND OR NOT pybind11_FOUND)
  return()
endif()

set(python_folder ${CMAKE_CURRENT_BINARY_DIR}/python)

# What the headers say, as text for help() and for the stubs.
file(GLOB_RECURSE documented CONFIGURE_DEPENDS framework/*.h)
set(documentation_source ${CMAKE_CURRENT_BINARY_DIR}/python_documentation.cc)
add_custom_command(OUTPUT ${documentation_source} VERBATIM
  COMMAND ${Python_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/apps/python/documentation.py ${CMAKE_CURRENT_SOURCE_DIR} ${documentation_source}
  DEPENDS ${documented} apps/python/documentation.py apps/python/binding/ops.cc)

file(GLOB binding_sources CONFIGURE_DEPENDS apps/python/binding/*.cc)
pybind11_add_module(qkv_python MODULE NO_EXTRAS ${binding_sources} ${documentation_source})
target_link_libraries(qkv_python PRIVATE qkv::labs qkv::lesson qkv::gradcheck_report qkv::report qkv_options)
target_precompile_headers(qkv_python PRIVATE <pybind11/pybind11.h> <pybind11/numpy.h> <pybind11/stl.h>)
set_target_properties(qkv_python PROPERTIES OUTPUT_NAME _qkv LIBRARY_OUTPUT_DIRECTORY ${python_folder}/qkv
                                            UNITY_BUILD ${QKV_UNITY} UNITY_BUILD_BATCH_SIZE 6)
# clang-tidy reads the others together, and before this one is made.
set_source_files_properties(${documentation_source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
target_compile_definitions(qkv_python PRIVATE QKV_VERSION="${PROJECT_VERSION}")
target_compile_options(qkv_python PRIVATE $<$<CONFIG:Release>:-O1>)
# Another library that Python has loaded may have functions of the same names.
target_link_options(qkv_python PRIVATE LINKER:--exclude-libs,ALL)

file(GLOB_RECURSE python_files RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/apps/python/qkv CONFIGURE_DEPENDS apps/python/qkv/*.py)
set(copied_files)
foreach(file IN LISTS python_files)
  add_custom_command(OUTPUT ${python_folder}/qkv/${file} VERBATIM
    COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_CURRENT_SOURCE_DIR}/apps/python/qkv/${file} ${python_folder}/qkv/${file}
    DEPENDS apps/python/qkv/${file})
  list(APPEND copied_files ${python_folder}/qkv/${file})
endforeach()
if(NOT QKV_SANITIZE)  # which would have to be loaded before Python
  add_custom_command(OUTPUT ${python_folder}/qkv/_qkv.pyi VERBATIM
    COMMAND ${Python_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/apps/python/stubs.py ${python_folder}
    DEPENDS qkv_python ${copied_files} apps/python/stubs.py)
  list(APPEND copied_files ${python_folder}/qkv/_qkv.pyi)
endif()
add_custom_target(python_package ALL DEPENDS ${copied_files} qkv_python)

# cmake --install puts it where Debian's Python looks, or another one.
if(NOT EXISTS /etc/debian_version)
  set(python_home lib/python${Python_VERSION_MAJOR}.${Python_VERSION_MINOR}/site-packages)
elseif(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  set(python_home lib/python3/dist-packages)
else()
  set(python_home lib/python${Python_VERSION_MAJOR}.${Python_VERSION_MINOR}/dist-packages)
endif()
install(TARGETS qkv_python LIBRARY DESTINATION ${python_home}/qkv COMPONENT python)
install(DIRECTORY apps/python/qkv DESTINATION ${python_home} COMPONENT python FILES_MATCHING PATTERN "*.py")
if(NOT QKV_SANITIZE)
  install(FILES ${python_folder}/qkv/_qkv.pyi DESTINATION ${python_home}/qkv COMPONENT python)
endif()
if(NOT QKV_NATIVE)  # the kernels are a library of their own
  file(RELATIVE_PATH from_package /${python_home}/qkv /${CMAKE_INSTALL_LIBDIR}/qkv)
  set_target_properties(qkv_python PROPERTIES INSTALL_RPATH "$ORIGIN/${from_package}")
endif()

if(QKV_BUILD_TESTS)
  include(cmake/test_names.cmake)
  # tests/apps/python/tensor_test.py is Python.Tensor, and so on.
  file(GLOB python_tests CONFIGURE_DEPENDS tests/apps/python/*_test.py)
  if(QKV_SANITIZE)
    # Those of the memory that both sides share. Python is no program of ours, so that the sanitizers' library has to be
    # loaded before it, and the library of exceptions with it, which it looks for at once.
    list(FILTER python_tests INCLUDE REGEX "/(tensor|autograd|misuse|leak)_test")
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libasan.so
                    OUTPUT_VARIABLE asan OUTPUT_STRIP_TRAILING_WHITESPACE)
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libstdc++.so
                    OUTPUT_VARIABLE libstdcxx OUTPUT_STRIP_TRAILING_WHITESPACE)
    string(CONCAT sanitized ";LD_PRELOAD=${asan}:${libstdcxx};PYTHONMALLOC=malloc"
           ";ASAN_OPTIONS=allocator_may_return_null=1:malloc_context_size=4"
           ";LSAN_OPTIONS=print_suppressions=0:suppressions=${CMAKE_CURRENT_SOURCE_DIR}/tests/apps/python/leaks.supp")
  endif()
  execute_process(COMMAND ${Python_EXECUTABLE} -c "import numpy" RESULT_VARIABLE no_numpy ERROR_QUIET)
  if(no_numpy)
    message(STATUS "Without NumPy there are no tests of the Python package")
    set(python_tests)
  endif()
  foreach(file IN LISTS python_tests)
    test_name(name Python ${file})
    add_test(NAME ${name} COMMAND ${Python_EXECUTABLE} -B ${file})
    set_tests_properties(${name} PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS numbers
      ENVIRONMENT "PYTHONPATH=${python_folder};QKV=$<TARGET_FILE:qkv>;QKV_SOURCE_DIR=${CMAKE_CURRENT_SOURCE_DIR};QKV_BINARY_DIR=${CMAKE_CURRENT_BINARY_DIR};OMP_WAIT_POLICY=passive${sanitized}")
  endforeach()
endif()
