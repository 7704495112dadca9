# What Debian's policy asks of each package beside what is installed; CPack runs this on the folders that it packs.

set(packages client:cleave daemon:cleaved nvmlsim:cleave-nvmlsim development:libcleave-dev)
list(FIND CPACK_COMPONENTS_ALL kube has_kube)
if(NOT has_kube EQUAL -1)
  list(APPEND packages kube:cleave-kube)
endif()
string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC)  # of SOURCE_DATE_EPOCH, where that is set

function(compress file)
  execute_process(COMMAND gzip -9nf "${file}" COMMAND_ERROR_IS_FATAL ANY)
endfunction()

foreach(pair ${packages})
  string(REPLACE ":" ";" pair "${pair}")
  list(GET pair 0 component)
  list(GET pair 1 package)
  set(root "${CPACK_TEMPORARY_DIRECTORY}/${component}")
  if(NOT EXISTS "${root}/usr")
    message(FATAL_ERROR "${root} is not there: was the component left out?")
  endif()
  set(documents "${root}/usr/share/doc/${package}")
  file(COPY "${CPACK_CLEAVE_PACKAGING}/copyright" DESTINATION "${documents}" NO_SOURCE_PERMISSIONS)
  file(WRITE "${documents}/changelog.Debian"
    "${package} (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium\n\n  * What has changed is in CHANGELOG.md, in /usr/share/doc/cleave.\n\n -- ${CPACK_PACKAGE_CONTACT}  ${now}\n")
  compress("${documents}/changelog.Debian")
  file(REMOVE "${documents}/LICENSE")  # named in `copyright`
  file(GLOB pages "${root}/usr/share/man/man1/*.1")
  foreach(page ${pages})
    compress("${page}")
  endforeach()
  if(EXISTS "${CPACK_CLEAVE_PACKAGING}/${package}/lintian-overrides")
    file(COPY "${CPACK_CLEAVE_PACKAGING}/${package}/lintian-overrides" DESTINATION "${root}/usr/share/lintian/overrides" NO_SOURCE_PERMISSIONS)
    file(RENAME "${root}/usr/share/lintian/overrides/lintian-overrides" "${root}/usr/share/lintian/overrides/${package}")
  endif()
endforeach()
