# The shelf: each folder of apps/ that has an app.cmake is an app. Without it, the rest is built as before.

# qkv_app(NAME …): the library qkv::NAME of apps/NAME and the folders in it that FOLDERS names; where it has verbs,
# the library qkv_NAME_verbs of apps/NAME/verbs, and the program qkv-NAME.
function(qkv_app name)
  cmake_parse_arguments(ARG "" "" "FOLDERS;LINKS;PRIVATE_LINKS" ${ARGN})
  list(TRANSFORM ARG_FOLDERS PREPEND apps/${name}/)
  file(GLOB sources CONFIGURE_DEPENDS apps/${name}/*.cc)
  if(sources)
    # With -Og they compile in four fifths of the time, and take as long to run.
    qkv_library(${name} FOLDERS apps/${name} ${ARG_FOLDERS} OPTIONS $<$<CONFIG:Release>:-Og>
                LINKS qkv::train ${ARG_LINKS} PRIVATE_LINKS nlohmann_json::nlohmann_json ${ARG_PRIVATE_LINKS})
    list(PREPEND ARG_LINKS qkv::${name})
  endif()
  file(GLOB verbs CONFIGURE_DEPENDS apps/${name}/verbs/*.cc)
  if(verbs)
    qkv_library(${name}_verbs FOLDERS apps/${name}/verbs LINKS qkv::cli ${ARG_LINKS}
                PRIVATE_LINKS nlohmann_json::nlohmann_json)
    add_executable(qkv-${name} cli/app_main.cc)
    list_of_functions(qkv-${name} verbs_of_this_program cli/verb.h Verb FILES ${verbs})
    target_link_libraries(qkv-${name} PRIVATE qkv_${name}_verbs qkv_options)
    set_property(GLOBAL APPEND PROPERTY QKV_APPS ${name})
    set_property(GLOBAL APPEND PROPERTY QKV_VERBS_OF_APPS ${verbs})
  endif()
endfunction()

file(GLOB verb_files CONFIGURE_DEPENDS apps/*/verbs/*.cc)
set(verbs_of_apps ${CMAKE_CURRENT_BINARY_DIR}/verbs_of_apps.cc)
add_custom_command(OUTPUT ${verbs_of_apps} VERBATIM
  COMMAND ${CMAKE_COMMAND} -D output=${verbs_of_apps} -D folder=${CMAKE_CURRENT_SOURCE_DIR}/apps
          -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/verbs_of_apps.cmake
  DEPENDS ${verb_files} cmake/verbs_of_apps.cmake)
target_sources(qkv_cli PRIVATE ${verbs_of_apps})

# What listens to every run, apps/NAME/listeners/LISTENER.cc with what is in LISTENER/, belongs to the library of the book
# that makes runs: so every program that makes one has it.
file(GLOB listener_files CONFIGURE_DEPENDS apps/*/listeners/*.cc apps/*/listeners/*/*.cc)
set(declared "")
set(listed "")
foreach(file IN LISTS listener_files)
  if(file MATCHES "/listeners/([^/]*)\\.cc$")
    string(APPEND declared "std::unique_ptr<RunListener> ${CMAKE_MATCH_1}_listener(const Config& config);\n")
    string(APPEND listed "{\"${CMAKE_MATCH_1}\", ${CMAKE_MATCH_1}_listener}, ")
  endif()
endforeach()
set(listeners_of_apps ${CMAKE_CURRENT_BINARY_DIR}/listeners_of_apps.cc)
file(CONFIGURE OUTPUT ${listeners_of_apps} @ONLY CONTENT [[
#include "train/watch/run_listener.h"

namespace qkv {
@declared@
std::span<const ListenerOfApp> listeners_of_apps() {
  static const std::vector<ListenerOfApp> kListeners = {@listed@};
  return kListeners;
}
}  // namespace qkv
]])
target_sources(qkv_train PRIVATE ${listener_files} ${listeners_of_apps})

file(GLOB apps CONFIGURE_DEPENDS apps/*/app.cmake)
if(apps)
  find_program(QKV_ESBUILD esbuild REQUIRED)  # makes one small script of the modules of a page
endif()
foreach(app IN LISTS apps)
  include(${app})
endforeach()

get_property(programs GLOBAL PROPERTY QKV_APPS)
list(TRANSFORM programs PREPEND qkv-)
list(PREPEND programs qkv)
add_custom_target(programs DEPENDS ${programs})
