# A build for every processor of this architecture (QKV_NATIVE=OFF), and its package: the target `package`
# makes a .deb of the programs and the configs. The kernels are a shared library, of which there are several:
# one for every processor, and those for newer ones in folders whose names the system's loader knows
# (glibc-hwcaps). It takes the newest that the processor can run.
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

set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL program)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_CONTACT "the qkv team <qkv@qkv.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_NAME qkv)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
    "small transformers: training, gradient checks and lessons
 qkv trains small sequence models from config files, proves their gradients by
 independent methods, and shows every number of attention, forward and
 backward, on a page.
 .
 The experiments are in /usr/share/qkv/configs:
 qkv train /usr/share/qkv/configs/reverse.toml")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${kernels_folder})
include(CPack)
