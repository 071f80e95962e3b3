# A build for every processor of this architecture (QKV_NATIVE=OFF). The kernels are a shared library, of
# which there are several: one for every processor, and those for newer ones in folders whose names the
# system's loader knows (glibc-hwcaps). It takes the newest that the processor can run.
set(kernels_folder ${CMAKE_CURRENT_BINARY_DIR}/kernels)
set(installed_kernels_folder ${CMAKE_INSTALL_LIBDIR}/qkv)

# shared_kernels(NAME FOLDER [OPTION…]): FOLDER/libqkv_kernels.so, compiled with the options.
function(shared_kernels name folder)
  qkv_library(${name} SHARED ${kernels} ${ARGN})
  # Each library calls its own functions, not those of the same name in a program.
  target_compile_options(qkv_${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fno-semantic-interposition>)
  set_target_properties(qkv_${name} PROPERTIES OUTPUT_NAME qkv_kernels VISIBILITY_INLINES_HIDDEN ON
                        LIBRARY_OUTPUT_DIRECTORY ${kernels_folder}/${folder})
endfunction()

shared_kernels(kernels .)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  foreach(level x86-64-v3 x86-64-v4)
    shared_kernels(kernels_${level} glibc-hwcaps/${level} -march=${level})
    install(TARGETS qkv_kernels_${level} COMPONENT program
            LIBRARY DESTINATION ${installed_kernels_folder}/glibc-hwcaps/${level})
  endforeach()
endif()
