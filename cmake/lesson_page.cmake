# The page of `qkv explain` as a source file: cmake -D output=FILE -D folder=FOLDER -P THIS.
#
# The sheets become one in the order of style.css.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/literal.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/bundle.cmake)

bundle_script(script)
file(READ ${folder}/page.html html)
file(STRINGS ${folder}/style.css sheets REGEX "^@import")
set(style "")
foreach(sheet IN LISTS sheets)
  string(REGEX REPLACE ".*\"([^\"]+)\".*" "\\1" sheet "${sheet}")
  file(READ ${folder}/${sheet} text)
  string(APPEND style "${text}")
endforeach()

file(WRITE ${output} "#include \"apps/lesson/page.h\"\n\nnamespace qkv {\n\n")
literal(kPageHtml "${html}")
literal(kPageStyle "${style}")
literal(kPageScript "${script}")
string(SHA256 digest "${script}")
literal(kPageScriptDigest "${digest}")
file(APPEND ${output} "\n}  // namespace qkv\n")
