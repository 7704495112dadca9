# For written_client.cmake, written_daemon.cmake and written_kube.cmake: where they write, and how. What they print comes from the programs of
# the build.

set(root "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}")

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

# What lets shells complete the command, as the words that are followed by a shell's name print it.
function(write_completions command)
  set(bash "bash-completion/completions/${command}")
  set(zsh "zsh/site-functions/_${command}")
  set(fish "fish/vendor_completions.d/${command}.fish")
  foreach(shell bash zsh fish)
    write_printed("${root}/${data_folder}/${${shell}}" ${ARGN} ${shell})
  endforeach()
endfunction()
