# Tests are built when cmocka is there, or must be (RP_TESTS=ON): a plain build needs no test
# packages.
if(RP_TESTS)
  find_package(PkgConfig REQUIRED)
  pkg_check_modules(CMOCKA IMPORTED_TARGET cmocka)
  if(CMOCKA_FOUND)
    add_subdirectory(tests)
  elseif(NOT RP_TESTS STREQUAL "AUTO")
    message(FATAL_ERROR "cmocka not found; run ./setup --check")
  else()
    message(STATUS "cmocka not found: the tests are not built (./setup --check installs it)")
  endif()
endif()
