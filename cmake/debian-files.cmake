# Run by cpack in the staged tree: what Debian wants of a package and `cmake --install` leaves as it is.
# Manual pages are compressed, and there is a changelog and a word about what lintian notices.
if(NOT CPACK_TEMPORARY_DIRECTORY MATCHES "/DEB/")
  return()
endif()
set(share ${CPACK_TEMPORARY_DIRECTORY}/usr/share)
file(GLOB pages ${share}/man/man1/*.1)
foreach(page ${pages})
  if(IS_SYMLINK ${page})
    file(READ_SYMLINK ${page} target)
    file(REMOVE ${page})
    file(CREATE_LINK ${target}.gz ${page}.gz SYMBOLIC)
  else()
    execute_process(COMMAND gzip -9n ${page} COMMAND_ERROR_IS_FATAL ANY)
  endif()
endforeach()

string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC) # or of $SOURCE_DATE_EPOCH
set(changelog ${share}/doc/${CPACK_PACKAGE_NAME}/changelog)
file(WRITE ${changelog} "${CPACK_PACKAGE_NAME} (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * Built from the sources, whose history says what has changed.

 -- ${CPACK_PACKAGE_CONTACT}  ${now}
")
execute_process(COMMAND gzip -9nf ${changelog} COMMAND_ERROR_IS_FATAL ANY)

file(WRITE ${share}/lintian/overrides/${CPACK_PACKAGE_NAME}
"# One package: program, library and what is needed to build with the library belong to one version.
${CPACK_PACKAGE_NAME}: package-name-doesnt-match-sonames librocm-perf0
${CPACK_PACKAGE_NAME}: link-to-shared-library-in-wrong-package *
# Written by cpack.
${CPACK_PACKAGE_NAME}: maintscript-calls-ldconfig *
# For the machine that it is installed on only.
${CPACK_PACKAGE_NAME}: pkg-config-unavailable-for-cross-compilation *
")
file(CHMOD_RECURSE ${share}/lintian ${changelog}.gz
     FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ
     DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
