# The template of `qkv export --c`, which is some files one after the other, as a source file:
# cmake -D output=FILE -D folder=FOLDER -P THIS.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/literal.cmake)

set(text "")
foreach(part layers mixers model texts)
  file(READ ${folder}/${part}.c read)
  string(APPEND text "${read}")
endforeach()
file(WRITE ${output} "#include \"apps/exchange/c_program.h\"\n\nnamespace qkv {\n\n")
literal(kProgramTemplate "${text}")
file(APPEND ${output} "}  // namespace qkv\n")
