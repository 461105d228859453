# `cpack` in the build folder makes a Debian package of what `cmake --install` installs.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME rocm-perf-lab)
set(CPACK_PACKAGE_VENDOR "rocm-perf-lab")
# Who packages answers for the package, and says so as with Debian's own tools; ".invalid" says that nobody does.
set(CPACK_PACKAGE_CONTACT "rocm-perf-lab authors <rocm-perf-lab@nobody.invalid>")
if(DEFINED ENV{DEBFULLNAME} AND DEFINED ENV{DEBEMAIL})
  set(CPACK_PACKAGE_CONTACT "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
endif()
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "profile, analyse and tune HIP programs on AMD GPUs")
set(CPACK_PACKAGE_DESCRIPTION
"Says which kernels of a HIP program ran, how long, what bounds each of them
and the whole program, replays kernels, and looks for faster ones. Runs on a
GPU with ROCm 7 or 10, and without one on a software MI300X, whose times are
modelled.
The user space of ROCm is not part of this package; rocm-perf doctor says
what is missing, and the command that brings it.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
# dpkg-shlibdeps knows the packages, and the oldest versions, of what is linked. SQLite has to be 3.38,
# which is older than the libc that is asked for wherever this is built.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# What links the library.
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
# Debian has this in place of the scripts that call ldconfig, which cpack writes all the same.
file(WRITE ${CMAKE_BINARY_DIR}/debian/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${CMAKE_BINARY_DIR}/debian/triggers)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/cmake/debian-files.cmake)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
include(CPack)
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
