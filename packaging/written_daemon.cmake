# Man pages, completions and units of `cleaved`; run by packaging/CMakeLists.txt when it is installed.

include("${templates}/written.cmake")

set(CLEAVE_BIN_FOLDER "${CMAKE_INSTALL_PREFIX}/${bin_folder}")
set(CLEAVE_DOC_FOLDER "${CMAKE_INSTALL_PREFIX}/${doc_folder}")
foreach(unit cleaved.service cleave-jobs.service)
  message(STATUS "Installing: ${root}/lib/systemd/system/${unit}")
  configure_file("${templates}/${unit}.in" "${root}/lib/systemd/system/${unit}" @ONLY)
endforeach()

write_printed("${root}/${man_folder}/man1/cleaved.1" "${programs}/cleaved" --man)
foreach(command check backup)
  write_printed("${root}/${man_folder}/man1/cleaved-${command}.1" "${programs}/cleaved" ${command} --man)
endforeach()
write_completions(cleaved "${programs}/cleaved" --completion)
