# cmake --install: the programs, the libraries another C++ program may use, and their headers.
include(CMakePackageConfigHelpers)

set(qkv_package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/qkv)

install(TARGETS qkv_kernels EXPORT qkv_targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/qkv COMPONENT program)
install(TARGETS qkv_framework qkv_models EXPORT qkv_targets)
# After ./qkv train, what only other verbs need is not built: what there is is installed.
install(TARGETS qkv_gradcheck EXPORT qkv_gradcheck_targets OPTIONAL)
set(built_with_gradcheck qkv_gradcheck)  # the last of qkv_gradcheck_targets
if(TARGET qkv_gradcheck_report)
  set(built_with_gradcheck qkv_gradcheck_report)
endif()
set_target_properties(${programs} PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}/qkv")
install(TARGETS ${programs} COMPONENT program OPTIONAL)
install(DIRECTORY configs DESTINATION ${CMAKE_INSTALL_DATADIR}/qkv COMPONENT program)
install(DIRECTORY framework models DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/qkv
        FILES_MATCHING PATTERN "*.h")
install(FILES README.md LICENSE CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)

# What shells complete and the manual page: the program itself makes them, where it can run.
if(TARGET qkv-shell AND NOT CMAKE_CROSSCOMPILING AND NOT QKV_SANITIZE AND NOT QKV_SANITIZE_THREADS)
  set(shell_folder ${CMAKE_CURRENT_BINARY_DIR}/shell)
  set(shell_files ${shell_folder}/qkv ${shell_folder}/_qkv ${shell_folder}/qkv.fish ${shell_folder}/qkv.1)
  add_custom_command(OUTPUT ${shell_files} VERBATIM
    COMMAND ${CMAKE_COMMAND} -E make_directory ${shell_folder}
    COMMAND $<TARGET_FILE:qkv-shell> completion bash > ${shell_folder}/qkv
    COMMAND $<TARGET_FILE:qkv-shell> completion zsh > ${shell_folder}/_qkv
    COMMAND $<TARGET_FILE:qkv-shell> completion fish > ${shell_folder}/qkv.fish
    COMMAND $<TARGET_FILE:qkv-shell> man > ${shell_folder}/qkv.1
    DEPENDS qkv-shell)
  add_custom_target(shell_files ALL DEPENDS ${shell_files})
  install(FILES ${shell_folder}/qkv DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT program OPTIONAL)
  install(FILES ${shell_folder}/_qkv DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT program OPTIONAL)
  install(FILES ${shell_folder}/qkv.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT program OPTIONAL)
  install(FILES ${shell_folder}/qkv.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program OPTIONAL)
endif()

install(EXPORT qkv_targets NAMESPACE qkv:: FILE qkvTargets.cmake DESTINATION ${qkv_package_folder})
install(EXPORT qkv_gradcheck_targets NAMESPACE qkv:: FILE qkvGradcheckTargets.cmake DESTINATION ${qkv_package_folder})
configure_package_config_file(cmake/qkvConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/qkvConfig.cmake
                              INSTALL_DESTINATION ${qkv_package_folder})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/qkvConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/qkvConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/qkvConfigVersion.cmake
        DESTINATION ${qkv_package_folder})
