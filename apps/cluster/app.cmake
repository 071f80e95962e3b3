qkv_app(cluster LINKS qkv::cli)
qkv_test(apps/cluster qkv::cluster)
if(TARGET apps_cluster_test)
  target_sources(apps_cluster_test PRIVATE tests/train/loop/observed_run.cc)
endif()

# qkv with MPI: with QKV_MPI it is the program qkv, with the MPI that CMake finds. Else, for the tests, a program for
# each MPI of Debian that is installed: qkv-openmpi, qkv-mpich.

# mpi_program(NAME LIBRARY): what the program is made of, which links the MPI of the library.
function(mpi_program name library)
  target_sources(${name} PRIVATE apps/cluster/mpi/main.cc)
  target_link_libraries(${name} PRIVATE qkv_cluster qkv_options ${library})
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
        add_executable(qkv-${program})
        mpi_program(qkv-${program} PkgConfig::${program})
        add_library(count_bytes-${program} SHARED tests/apps/cluster/mpi/count_bytes.cc)
        target_link_libraries(count_bytes-${program} PRIVATE PkgConfig::${program} qkv_options)
      endif()
    endforeach()
  endif()
  # Skipped where there is no MPI.
  foreach(test "SameBits.Reverse same-bits reverse" "SameBits.ReverseSeq2seq same-bits reverse_seq2seq"
               "SameBits.Shapes same-bits shapes" "SameBits.Lstm same-bits lstm" "GoesOnWithOtherRanks resume"
               "SendsTheLeastBytes bytes" "WaitsForWhoIsSlow slow" "RefusesWhatDiffers refusals" "SlurmScript slurm"
               "TortureOfRanks torture" "SharesASweep sweep")
    string(REPLACE " " ";" test ${test})
    list(POP_FRONT test name)
    add_test(NAME Mpi.${name} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tests/apps/cluster/mpi/run $<TARGET_FILE_DIR:qkv> ${test})
    set_tests_properties(Mpi.${name} PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77)
  endforeach()
endif()
