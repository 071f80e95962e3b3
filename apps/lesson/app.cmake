qkv_app(lesson LINKS qkv::report PRIVATE_LINKS ZLIB::ZLIB)
qkv_test(apps/lesson qkv::lesson)

file(GLOB_RECURSE page_files CONFIGURE_DEPENDS apps/lesson/page/*)
set(page_source ${CMAKE_CURRENT_BINARY_DIR}/lesson_page_files.cc)
add_custom_command(OUTPUT ${page_source} VERBATIM
  COMMAND ${CMAKE_COMMAND} -D output=${page_source}
          -D folder=${CMAKE_CURRENT_SOURCE_DIR}/apps/lesson/page -D esbuild=${QKV_ESBUILD}
          -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/lesson_page.cmake
  DEPENDS ${page_files} apps/report/texts/texts.js
          apps/report/page/dom.js apps/report/page/formula.js cmake/lesson_page.cmake cmake/bundle.cmake cmake/literal.cmake)
target_sources(qkv_lesson PRIVATE ${page_source})

if(QKV_BUILD_TESTS AND NOT QKV_SANITIZE AND NOT QKV_SANITIZE_THREADS)
  include(apps/lesson/page_tests.cmake)
endif()
