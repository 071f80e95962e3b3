qkv_app(python)
if((QKV_PYTHON OR QKV_BUILD_TESTS) AND NOT QKV_SANITIZE_THREADS AND NOT CMAKE_CROSSCOMPILING)
  include(apps/python/package.cmake)
endif()
