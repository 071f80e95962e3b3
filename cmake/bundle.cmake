# The modules of a script become one: each comes after those that it imports from, without `import` and
# `export`; so each top-level name is in one module only. This is all of bundling that the pages need: their source
# is read by who looks at one, with its names and comments. Paths are within ${folder}.

# The modules that one imports from, as paths within the folder.
function(imports_of module text result)
  cmake_path(GET module PARENT_PATH here)
  string(REGEX MATCHALL "\nimport [^;]* from \"[^\"]+\"" imports "\n${text}")
  set(paths "")
  foreach(import IN LISTS imports)
    string(REGEX REPLACE ".* from \"([^\"]+)\"" "\\1" path "${import}")
    cmake_path(APPEND here "${path}" OUTPUT_VARIABLE path)
    cmake_path(NORMAL_PATH path)
    list(APPEND paths ${path})
  endforeach()
  set(${result} ${paths} PARENT_SCOPE)
endfunction()

# Two modules with one top-level name would be a script that no browser reads.
function(check_names module text)
  string(REGEX MATCHALL "\n(export )?(async )?(const|let|class|function\\*?) [A-Za-z_$][A-Za-z0-9_$]*" names "\n${text}")
  foreach(name IN LISTS names)
    string(REGEX REPLACE ".* " "" name "${name}")
    get_property(other GLOBAL PROPERTY "name ${name}")
    if(other)
      message(FATAL_ERROR "the page has two top-level names ${name}: in ${other} and in ${module}")
    endif()
    set_property(GLOBAL PROPERTY "name ${name}" ${module})
  endforeach()
endfunction()

function(visit module)
  get_property(seen GLOBAL PROPERTY seen)
  if(module IN_LIST seen)
    return()
  endif()
  set_property(GLOBAL APPEND PROPERTY seen ${module})
  file(READ ${folder}/${module} text)
  imports_of(${module} "${text}" imports)
  foreach(import IN LISTS imports)
    visit(${import})
  endforeach()
  check_names(${module} "${text}")
  string(REGEX REPLACE "(^|\n)import [^;]* from \"[^\"]*\";" "\\1" text "${text}")
  string(REGEX REPLACE "(^|\n)export " "\\1" text "${text}")
  set_property(GLOBAL APPEND_STRING PROPERTY script "// ${module}\n${text}\n")
endfunction()

# All modules that main.js needs, as one.
function(bundle_script result)
  visit(main.js)
  get_property(script GLOBAL PROPERTY script)
  set(${result} "${script}" PARENT_SCOPE)
endfunction()
