# apps/exchange/run.c as a source file: cmake -D output=FILE -D file=FILE -P THIS.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/literal.cmake)

file(READ ${file} program)
file(WRITE ${output} "#include <string>\n\nnamespace qkv {\n\nextern const std::string kRunProgram;\n")
literal(kRunProgram "${program}")
file(APPEND ${output} "}  // namespace qkv\n")
