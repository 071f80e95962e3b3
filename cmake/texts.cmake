# The texts of lessons as a source file: cmake -D output=FILE -D folder=FOLDER -P THIS. It has FOLDER/APP/ROOM/*.toml.
# They are made when they are first asked for, so that a constant may say something.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/literal.cmake)

file(GLOB files RELATIVE ${folder} ${folder}/*/*/*.toml)
file(WRITE ${output} "#include \"apps/report/texts/texts.h\"\n\nnamespace qkv {\nnamespace {\n\n"
     "std::map<std::string, std::string> all_files() {\n")
set(list "")
foreach(file IN LISTS files)
  string(REGEX REPLACE "^(.*)/.*/(.*)\\.toml$" "\\1/\\2" name ${file})
  string(MAKE_C_IDENTIFIER "texts_of_${name}" identifier)
  file(READ ${folder}/${file} text)
  literal(${identifier} "${text}")
  string(APPEND list "    {\"${name}\", ${identifier}},\n")
endforeach()
file(APPEND ${output} "  return {\n${list}  };\n}\n\n}  // namespace\n\n"
     "const std::map<std::string, std::string>& text_files() {\n"
     "  static const auto kFiles = all_files();\n  return kFiles;\n}\n\n}  // namespace qkv\n")
