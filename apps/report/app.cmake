qkv_library(html FOLDERS apps/report/html LINKS absl::strings)
qkv_app(report FOLDERS svg texts writers LINKS qkv::html PRIVATE_LINKS tomlplusplus::tomlplusplus)

# For programs that use the installed package, too.
qkv_library(gradcheck_report FOLDERS apps/report/gradcheck LINKS qkv::gradcheck qkv::html
            PRIVATE_LINKS $<BUILD_INTERFACE:nlohmann_json::nlohmann_json>)
install(TARGETS qkv_html qkv_gradcheck_report EXPORT qkv_gradcheck_targets OPTIONAL)
install(FILES apps/report/gradcheck/diagnosis.h apps/report/gradcheck/gradcheck_documents.h
              apps/report/gradcheck/wrong_op.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/qkv/apps/report/gradcheck)

file(GLOB_RECURSE report_files CONFIGURE_DEPENDS apps/report/page/*)
set(report_source ${CMAKE_CURRENT_BINARY_DIR}/report_page_files.cc)
add_custom_command(OUTPUT ${report_source} VERBATIM
  COMMAND ${CMAKE_COMMAND} -D output=${report_source}
          -D folder=${CMAKE_CURRENT_SOURCE_DIR}/apps/report/page -D esbuild=${QKV_ESBUILD}
          -D example=${CMAKE_CURRENT_SOURCE_DIR}/examples/steps.cc
          -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/report_page.cmake
  DEPENDS ${report_files} apps/report/texts/texts.js examples/steps.cc cmake/report_page.cmake cmake/bundle.cmake
          cmake/literal.cmake)
file(GLOB text_files CONFIGURE_DEPENDS apps/*/*/*.toml)
set(texts_source ${CMAKE_CURRENT_BINARY_DIR}/text_files.cc)
add_custom_command(OUTPUT ${texts_source} VERBATIM
  COMMAND ${CMAKE_COMMAND} -D output=${texts_source}
          -D folder=${CMAKE_CURRENT_SOURCE_DIR}/apps
          -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/texts.cmake
  DEPENDS ${text_files} cmake/texts.cmake cmake/literal.cmake)
target_sources(qkv_report PRIVATE ${report_source} ${texts_source})
qkv_test(apps/report qkv::report qkv::labs)
