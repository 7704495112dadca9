# Man pages and completions of `cleave`; run by packaging/CMakeLists.txt when it is installed.

include("${templates}/written.cmake")

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
write_printed("${root}/${man_folder}/man1/cleave-job.1" "${programs}/cleave-job" --man)

write_completions(cleave "${programs}/cleave" completion)
write_completions(cleave-job "${programs}/cleave-job" --completion)
