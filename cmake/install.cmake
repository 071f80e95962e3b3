# cmake --install: the programs, the libraries another C++ program may use, and their headers.
include(CMakePackageConfigHelpers)

set(qkv_package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/qkv)

install(TARGETS qkv_kernels EXPORT qkv_targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/qkv COMPONENT program)
install(TARGETS qkv_framework qkv_gradcheck qkv_models EXPORT qkv_targets)
set_target_properties(qkv qkv-lessons PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}/qkv")
install(TARGETS qkv qkv-lessons COMPONENT program)
install(DIRECTORY configs DESTINATION ${CMAKE_INSTALL_DATADIR}/qkv COMPONENT program)
install(DIRECTORY framework models DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/qkv
        FILES_MATCHING PATTERN "*.h")
install(FILES README.md LICENSE CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)

install(EXPORT qkv_targets NAMESPACE qkv:: FILE qkvTargets.cmake DESTINATION ${qkv_package_folder})
configure_package_config_file(cmake/qkvConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/qkvConfig.cmake
                              INSTALL_DESTINATION ${qkv_package_folder})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/qkvConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/qkvConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/qkvConfigVersion.cmake
        DESTINATION ${qkv_package_folder})
