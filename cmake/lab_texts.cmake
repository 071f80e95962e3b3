# The texts of the labs as a source file: cmake -D output=FILE -D folder=FOLDER -P THIS.
cmake_minimum_required(VERSION 3.25)

# A literal may be at most so long; neighbours are one.
function(literal name file)
  file(READ ${folder}/${file} text)
  string(LENGTH "${text}" length)
  set(pieces "")
  set(begin 0)
  while(begin LESS length)
    string(SUBSTRING "${text}" ${begin} 8000 piece)
    string(APPEND pieces "R\"qkv_text(${piece})qkv_text\"\n")
    math(EXPR begin "${begin} + 8000")
  endwhile()
  file(APPEND ${output} "extern const std::string ${name} =\n${pieces};\n")
endfunction()

file(WRITE ${output} "#include \"lessons/labs/text_files.h\"\n\nnamespace qkv {\n\n")
literal(kClaimsToml claims.toml)
literal(kSectionsToml sections.toml)
file(APPEND ${output} "\n}  // namespace qkv\n")
