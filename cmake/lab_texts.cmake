# The texts of the labs as a source file: cmake -D output=FILE -D folder=FOLDER -P THIS.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/literal.cmake)

file(GLOB files ${folder}/*.toml)
file(WRITE ${output} "#include \"lessons/labs/text_files.h\"\n\nnamespace qkv {\nnamespace {\n\n")
set(list "")
foreach(file IN LISTS files)
  get_filename_component(name ${file} NAME_WE)
  string(MAKE_C_IDENTIFIER "text_of_${name}" identifier)
  file(READ ${file} text)
  literal(${identifier} "${text}")
  string(APPEND list "    {\"${name}\", ${identifier}},\n")
endforeach()
file(APPEND ${output} "\n}  // namespace\n\nconst std::map<std::string, std::string>& text_files() {\n"
     "  static const std::map<std::string, std::string> kFiles = {\n${list}  };\n"
     "  return kFiles;\n}\n\n}  // namespace qkv\n")
