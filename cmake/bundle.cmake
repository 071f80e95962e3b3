# bundle(FILE RESULT): a script with all modules, or a sheet with all sheets, that FILE imports, small: without
# comments, and with short names. ${esbuild} is the program.
function(bundle file result)
  execute_process(COMMAND ${esbuild} ${file} --bundle --minify --format=esm --charset=utf8 --log-level=warning
                  OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  set(${result} "${text}" PARENT_SCOPE)
endfunction()
