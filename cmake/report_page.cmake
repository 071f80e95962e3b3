# The style and the script of the pages of `qkv lab` as a source file, and the lines of examples/steps.cc that the
# pages show: cmake -D output=FILE -D folder=FOLDER -D example=FILE -D esbuild=PROGRAM -P THIS.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/literal.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/bundle.cmake)

bundle(${folder}/main.js script)
bundle(${folder}/style.css style)
string(SHA256 digest "${script}")
file(WRITE ${output} "#include \"apps/report/writers/page_files.h\"\n\nnamespace qkv {\n\n")
literal(kReportStyle "${style}")
literal(kReportScript "${script}")
literal(kReportScriptDigest "${digest}")

# A region begins with the line "// [name]" and ends with "// []".
file(READ ${example} code)
string(REGEX MATCHALL "// \\[[a-z ]+\\]\n" heads "${code}")
set(list "")
foreach(head IN LISTS heads)
  string(REGEX REPLACE "// \\[([a-z ]+)\\]\n" "\\1" name "${head}")
  string(FIND "${code}" "${head}" begin)
  string(LENGTH "${head}" length)
  math(EXPR begin "${begin} + ${length}")
  string(SUBSTRING "${code}" ${begin} -1 rest)
  string(FIND "${rest}" "// []" end)
  if(end EQUAL -1)
    message(FATAL_ERROR "${example}: the region ${name} has no end")
  endif()
  string(SUBSTRING "${rest}" 0 ${end} region)
  string(APPEND list "      {\"${name}\", R\"qkv_text(${region})qkv_text\"},\n")
endforeach()
file(APPEND ${output} "const std::map<std::string, std::string>& code_regions() {\n"
     "  static const std::map<std::string, std::string> kRegions = {\n${list}  };\n"
     "  return kRegions;\n}\n\n}  // namespace qkv\n")
