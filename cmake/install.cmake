# cmake --install: the program, the libraries another C++ program may use, and their headers.
include(CMakePackageConfigHelpers)

set(qkv_package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/qkv)

install(TARGETS qkv_framework qkv_gradcheck qkv_models EXPORT qkv_targets)
if(TARGET qkv)
  install(TARGETS qkv qkv-lessons)
endif()
install(DIRECTORY framework models DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/qkv
        FILES_MATCHING PATTERN "*.h")
install(FILES LICENSE CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(EXPORT qkv_targets NAMESPACE qkv:: FILE qkvTargets.cmake DESTINATION ${qkv_package_folder})
configure_package_config_file(cmake/qkvConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/qkvConfig.cmake
                              INSTALL_DESTINATION ${qkv_package_folder})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/qkvConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/qkvConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/qkvConfigVersion.cmake
        DESTINATION ${qkv_package_folder})
