# The target `package` makes Debian packages of a build for every processor: qkv has the programs and the
# configs, and python3-qkv, where the Python package is built, has that.
set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL program)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_CONTACT "the qkv team <qkv@qkv.invalid>")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${kernels_folder})

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME qkv)
set(CPACK_DEBIAN_PROGRAM_DESCRIPTION
    "small transformers: training, gradient checks and lessons
qkv trains small sequence models from config files, proves their gradients by
independent methods, and shows every number of attention, forward and
backward, on a page.

The experiments are in /usr/share/qkv/configs:
qkv train /usr/share/qkv/configs/reverse.toml")

if(TARGET qkv_python)
  list(APPEND CPACK_COMPONENTS_ALL python)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-qkv)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
  # The module is made for one version of Python, and its kernels are those of the package qkv.
  math(EXPR next_python "${Python_VERSION_MINOR} + 1")
  string(CONCAT CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS
         "qkv (= ${PROJECT_VERSION}), python3-numpy, "
         "python3 (>= 3.${Python_VERSION_MINOR}), python3 (<< 3.${next_python})")
  set(CPACK_DEBIAN_PYTHON_DESCRIPTION
      "small transformers from Python, with NumPy's arrays
The tensors, ops, gradients and gradient checks of qkv, its models, runs and
lessons, from Python programs and notebooks.")
endif()
include(CPack)
