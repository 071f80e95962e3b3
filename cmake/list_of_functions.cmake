# list_of_functions(TARGET NAME HEADER TYPE FILES FILE… [FIRST FUNCTION…]): the target gets the function NAME, a span of
# all functions `TYPE …()` that these files define: FIRST, then file by file. HEADER declares the type. The list is made
# anew when a file is, so that what is added stands in its own file alone.
function(list_of_functions target name header type)
  cmake_parse_arguments(ARG "" "" "FILES;FIRST" ${ARGN})
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${target}_${name}.cc)
  set(script ${CMAKE_CURRENT_SOURCE_DIR}/cmake/list_of_functions.cmake)
  add_custom_command(OUTPUT ${output} DEPENDS ${ARG_FILES} ${script} VERBATIM
    COMMAND ${CMAKE_COMMAND} -D output=${output} -D name=${name} -D header=${header} -D type=${type}
            -D "functions=${ARG_FIRST}" -D "files=${ARG_FILES}" -P ${script})
  target_sources(${target} PRIVATE ${output})
endfunction()

if(CMAKE_SCRIPT_MODE_FILE)
  foreach(file IN LISTS files)
    file(STRINGS ${file} heads REGEX "^${type} [a-z0-9_]+\\(\\) {")
    list(TRANSFORM heads REPLACE "^${type} ([a-z0-9_]+).*" "\\1")
    list(APPEND functions ${heads})
  endforeach()
  list(REMOVE_DUPLICATES functions)
  list(JOIN functions ", " listed)
  list(JOIN functions "(), " declared)
  file(CONFIGURE OUTPUT ${output} @ONLY CONTENT [[
#include "@header@"

#include <array>
#include <span>

namespace qkv {

@type@ @declared@();

std::span<@type@ (*const)()> @name@() {
  static constexpr std::array kList{@listed@};
  return kList;
}

}  // namespace qkv
]])
endif()
