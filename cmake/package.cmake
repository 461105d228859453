# `cpack` in the build folder makes a Debian package of what `cmake --install` installs, `cpack -G RPM` one for RHEL and SLES.
# Those of tools/package, where RP_CARRIED is set, run everywhere; others run where the libraries are that were linked.
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
if(NOT RP_CARRIED) # which has no debug information
  set(CPACK_STRIP_FILES ON)
endif()
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
# dpkg-shlibdeps knows the packages, and the oldest versions, of what is linked. libcurl is loaded when a model server is
# to be asked, libpq when a history is in PostgreSQL.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libcurl4, libpq5")
if(RP_CARRIED)
  # The file of symbols of the libc of this machine would ask for that libc's version.
  set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.28)")
else()
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
endif()
# What links the library.
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
# Debian has this in place of the scripts that call ldconfig, which cpack writes all the same.
file(WRITE ${CMAKE_BINARY_DIR}/debian/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${CMAKE_BINARY_DIR}/debian/triggers)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/cmake/debian-files.cmake)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_COMPRESSION_TYPE xz)
set(CPACK_RPM_PACKAGE_LICENSE MIT)
if(RP_CARRIED)
  set(CPACK_RPM_PACKAGE_LICENSE "MIT and BSD and zlib and Public Domain")
endif()
set(CPACK_RPM_PACKAGE_SUGGESTS "libcurl, libpq")
# Folders of other packages.
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION)
foreach(folder bin include lib lib64 lib64/pkgconfig share share/doc share/man share/man/man1 share/bash-completion
               share/bash-completion/completions)
  list(APPEND CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /usr/${folder})
endforeach()
# SLES has no trigger for this.
file(WRITE ${CMAKE_BINARY_DIR}/rpm/ldconfig "/sbin/ldconfig || :\n")
set(CPACK_RPM_POST_INSTALL_SCRIPT_FILE ${CMAKE_BINARY_DIR}/rpm/ldconfig)
set(CPACK_RPM_POST_UNINSTALL_SCRIPT_FILE ${CMAKE_BINARY_DIR}/rpm/ldconfig)
# The same bytes from the same sources, wherever it is made; nothing is changed behind our back.
set(CPACK_RPM_SPEC_MORE_DEFINE "%define use_source_date_epoch_as_buildtime 1
%define clamp_mtime_to_source_date_epoch 1
%define _buildhost localhost
%define _build_id_links none
%define __requires_exclude ^/usr/bin/pkg-config$
%define __os_install_post %{nil}")
# Times after that of the commit become it, but those before it stay: what was built or checked out earlier.
file(WRITE ${CMAKE_BINARY_DIR}/rpm/touch.cmake
     "file(GLOB_RECURSE all \"\${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*\")\nfile(TOUCH_NOCREATE \${all})\n")
list(APPEND CPACK_PRE_BUILD_SCRIPTS ${CMAKE_BINARY_DIR}/rpm/touch.cmake)
include(CPack)
if(RP_CARRIED)
  install(FILES ${RP_CARRIED}/LICENSES DESTINATION ${CMAKE_INSTALL_DOCDIR})
endif()
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
