# The page of `qkv explain` as a source file: cmake -D output=FILE -D folder=FOLDER -D esbuild=PROGRAM -P THIS.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/literal.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/bundle.cmake)

bundle(${folder}/main.js script)
bundle(${folder}/style.css style)
string(SHA256 digest "${script}")
file(READ ${folder}/page.html html)

file(WRITE ${output} "#include \"apps/lesson/page.h\"\n\nnamespace qkv {\n\n")
literal(kPageHtml "${html}")
literal(kPageStyle "${style}")
literal(kPageScript "${script}")
literal(kPageScriptDigest "${digest}")
file(APPEND ${output} "\n}  // namespace qkv\n")
