# literal(NAME TEXT) writes a text to ${output} as the string NAME. A literal may be at most so long;
# neighbours are one.
function(literal name text)
  string(LENGTH "${text}" length)
  set(pieces "\"\"\n")
  set(begin 0)
  while(begin LESS length)
    string(SUBSTRING "${text}" ${begin} 8000 piece)
    string(APPEND pieces "R\"qkv_text(${piece})qkv_text\"\n")
    math(EXPR begin "${begin} + 8000")
  endwhile()
  file(APPEND ${output} "const std::string ${name} =\n${pieces};\n")
endfunction()
