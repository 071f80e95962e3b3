# qkv with MPI: the libraries of the plain program, and the one file that names mpi.h. With QKV_MPI it is the
# program qkv, with the MPI that CMake finds. Else, for the tests, a program for each MPI of Debian that is
# installed: qkv-openmpi, qkv-mpich.

# mpi_program(NAME LIBRARY): the program, which links the MPI of the library.
function(mpi_program name library)
  add_executable(${name} cli/main.cc train/mpi/mpi_ranks.cc)
  target_compile_definitions(${name} PRIVATE QKV_WITH_MPI)
  set_source_files_properties(train/mpi/mpi_ranks.cc PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_link_libraries(${name} PRIVATE qkv_cli qkv_options ${library})
endfunction()

if(QKV_MPI)
  find_package(MPI REQUIRED COMPONENTS CXX)
  mpi_program(qkv MPI::MPI_CXX)
elseif(QKV_BUILD_TESTS AND NOT QKV_SANITIZE AND NOT QKV_SANITIZE_THREADS AND NOT CMAKE_CROSSCOMPILING)
  find_package(PkgConfig QUIET)
  if(PkgConfig_FOUND)
    foreach(name IN ITEMS openmpi:ompi-c mpich:mpich)
      string(REPLACE ":" ";" name ${name})
      list(GET name 0 program)
      list(GET name 1 package)
      pkg_check_modules(${program} QUIET IMPORTED_TARGET ${package})
      if(${program}_FOUND)
        mpi_program(qkv-${program} PkgConfig::${program})
        add_library(count_bytes-${program} SHARED tests/mpi/count_bytes.cc)
        target_link_libraries(count_bytes-${program} PRIVATE PkgConfig::${program} qkv_options)
      endif()
    endforeach()
  endif()
endif()
