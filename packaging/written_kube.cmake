# Man page and completions of `cleave-kube`; run by packaging/CMakeLists.txt when it is installed.

include("${templates}/written.cmake")

write_printed("${root}/${man_folder}/man1/cleave-kube.1" "${programs}/cleave-kube" --man)
write_completions(cleave-kube "${programs}/cleave-kube" --completion)
