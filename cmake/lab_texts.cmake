# The texts of the labs as a source file: cmake -D output=FILE -D folder=FOLDER -P THIS.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/literal.cmake)

file(READ ${folder}/claims.toml claims)
file(READ ${folder}/sections.toml sections)
file(READ ${folder}/labs.toml labs)
file(WRITE ${output} "#include \"lessons/labs/text_files.h\"\n\nnamespace qkv {\n\n")
literal(kClaimsToml "${claims}")
literal(kSectionsToml "${sections}")
literal(kLabsToml "${labs}")
file(APPEND ${output} "\n}  // namespace qkv\n")
