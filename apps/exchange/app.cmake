qkv_app(exchange)

file(GLOB c_program_files CONFIGURE_DEPENDS apps/exchange/program/*.c)
set(c_program_source ${CMAKE_CURRENT_BINARY_DIR}/c_program_template.cc)
add_custom_command(OUTPUT ${c_program_source} VERBATIM
  COMMAND ${CMAKE_COMMAND} -D output=${c_program_source}
          -D folder=${CMAKE_CURRENT_SOURCE_DIR}/apps/exchange/program
          -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/c_program.cmake
  DEPENDS ${c_program_files} cmake/c_program.cmake cmake/literal.cmake)
target_sources(qkv_exchange PRIVATE ${c_program_source})
qkv_test(apps/exchange qkv::exchange)
