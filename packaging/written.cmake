# Installs what is written at the time: units, man pages and completions. Run by packaging/CMakeLists.txt.

set(root "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}")
set(programs "${root}/${bin_folder}")

# Puts what the program prints into the file.
function(write_printed file)
  message(STATUS "Installing: ${file}")
  get_filename_component(folder "${file}" DIRECTORY)
  file(MAKE_DIRECTORY "${folder}")
  execute_process(COMMAND ${ARGN} OUTPUT_FILE "${file}" RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN} ended with ${status}")
  endif()
endfunction()

set(CLEAVE_BIN_FOLDER "${CMAKE_INSTALL_PREFIX}/${bin_folder}")
set(CLEAVE_DOC_FOLDER "${CMAKE_INSTALL_PREFIX}/${doc_folder}")
foreach(unit cleaved.service cleave-jobs.service)
  message(STATUS "Installing: ${root}/lib/systemd/system/${unit}")
  configure_file("${templates}/${unit}.in" "${root}/lib/systemd/system/${unit}" @ONLY)
endforeach()

execute_process(COMMAND "${programs}/cleave" man --list OUTPUT_VARIABLE pages RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${programs}/cleave does not run: ${status}")
endif()
string(STRIP "${pages}" pages)
string(REPLACE "\n" ";" pages "${pages}")
foreach(page ${pages})
  string(REPLACE " " "-" name "${page}")
  string(REGEX REPLACE "^cleave ?" "" words "${page}")  # `cleave plan deploy` is asked for as `plan deploy`
  string(REPLACE " " ";" words "${words}")
  write_printed("${root}/${man_folder}/man1/${name}.1" "${programs}/cleave" man ${words})
endforeach()
write_printed("${root}/${man_folder}/man1/cleaved.1" "${programs}/cleaved" --man)

foreach(place "bash:bash-completion/completions/cleave" "zsh:zsh/site-functions/_cleave" "fish:fish/vendor_completions.d/cleave.fish")
  string(REPLACE ":" ";" place "${place}")
  list(GET place 0 shell)
  list(GET place 1 file)
  write_printed("${root}/${data_folder}/${file}" "${programs}/cleave" completion ${shell})
endforeach()
