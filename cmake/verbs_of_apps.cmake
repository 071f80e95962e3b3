# The titles of the verbs of apps as a source file: cmake -D output=FILE -D folder=APPS -P THIS. A verb stands in
# APPS/NAME/verbs/VERB.cc, and its title there: {"VERB", "ARGUMENT", "what it does"}.
cmake_minimum_required(VERSION 3.25)

file(GLOB files RELATIVE ${folder} ${folder}/*/verbs/*.cc)
set(list "")
foreach(file IN LISTS files)
  string(REGEX MATCH "^([^/]*)/verbs/(.*)\\.cc$" match ${file})
  set(app ${CMAKE_MATCH_1})
  set(verb ${CMAKE_MATCH_2})
  file(READ ${folder}/${file} text)
  if(NOT text MATCHES "{(\"${verb}\",[ \n]*\"[^\"]*\",[ \n]*\"[^\"]*\")}")
    message(FATAL_ERROR "${file} has no title {\"${verb}\", \"ARGUMENT\", \"what it does\"}")
  endif()
  string(APPEND list "      {{${CMAKE_MATCH_1}}, \"qkv-${app}\"},\n")
endforeach()
file(WRITE ${output} "#include \"cli/command_line.h\"\n\n#include <vector>\n\nnamespace qkv {\n\n"
     "std::span<const VerbElsewhere> verbs_of_apps() {\n"
     "  static const std::vector<VerbElsewhere> kVerbsOfApps = {\n${list}  };\n"
     "  return kVerbsOfApps;\n}\n\n}  // namespace qkv\n")
