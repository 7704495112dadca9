# The Debian packages, by CPack: one for each part of an installation. tools/package.sh makes them.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME cleave)
set(CPACK_PACKAGE_VENDOR "Cleave")
set(CPACK_PACKAGE_CONTACT "Cleave maintainers <maintainers@cleave.invalid>")
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_OUTPUT_FILE_PREFIX ${CMAKE_BINARY_DIR}/packages)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_STRIP_FILES ON)
# As `DESTDIR=... cmake --install --prefix /usr`: units and pages name the place where they will be.
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_SOURCE_DIR}/debian/finish.cmake)
set(CPACK_CLEAVE_PACKAGING ${CMAKE_CURRENT_SOURCE_DIR}/debian)

set(CPACK_COMPONENTS_ALL client daemon nvmlsim development)
if(CLEAVE_KUBE)
  list(APPEND CPACK_COMPONENTS_ALL kube)
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(same "(= ${PROJECT_VERSION}-1)")

set(CPACK_DEBIAN_CLIENT_PACKAGE_NAME cleave)
set(CPACK_DEBIAN_CLIENT_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_CLIENT_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_CLIENT_PACKAGE_RECOMMENDS "cleave-nvmlsim ${same}")
set(CPACK_DEBIAN_CLIENT_PACKAGE_SUGGESTS "cleaved ${same}")
set(CPACK_DEBIAN_CLIENT_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_SOURCE_DIR}/debian/cleave/postrm)
set(CPACK_COMPONENT_CLIENT_DESCRIPTION "Partitions, places and schedules work on NVIDIA MIG GPUs
 The command cleave submits jobs to the daemon cleaved, lists GPUs and their
 instances and changes them, simulates schedulers on workloads, plans the
 layout of a fleet, and forecasts memory and times of jobs.")

set(CPACK_DEBIAN_DAEMON_PACKAGE_NAME cleaved)
set(CPACK_DEBIAN_DAEMON_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_DAEMON_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_DAEMON_PACKAGE_DEPENDS "init-system-helpers (>= 1.54~)")
set(CPACK_DEBIAN_DAEMON_PACKAGE_RECOMMENDS "cleave ${same}")
set(CPACK_DEBIAN_DAEMON_PACKAGE_SUGGESTS "cleave-nvmlsim ${same}")
foreach(script postinst prerm postrm)
  list(APPEND CPACK_DEBIAN_DAEMON_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_SOURCE_DIR}/debian/cleaved/${script})
endforeach()
set(CPACK_COMPONENT_DAEMON_DESCRIPTION "Daemon that runs jobs on NVIDIA MIG instances
 The daemon takes jobs, makes the GPU instances that they need, and runs them
 there as the users who submitted them. It manages only GPUs that are named in
 /etc/cleave/cleaved.toml, and is not started before that file is there.")

set(CPACK_DEBIAN_KUBE_PACKAGE_NAME cleave-kube)
set(CPACK_DEBIAN_KUBE_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_KUBE_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_KUBE_PACKAGE_SUGGESTS "cleaved ${same}, cleave ${same}")
set(CPACK_COMPONENT_KUBE_DESCRIPTION "NVIDIA MIG instances for the pods of a Kubernetes cluster
 A driver of dynamic resource allocation, whose order of devices is Cleave's
 placement, and a controller that makes room by evictions within disruption
 budgets. This is what the image of its containers holds; manifests and a
 Dockerfile are in /usr/share/cleave/kubernetes.")

set(CPACK_DEBIAN_NVMLSIM_PACKAGE_NAME cleave-nvmlsim)
set(CPACK_DEBIAN_NVMLSIM_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_NVMLSIM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_NVMLSIM_PACKAGE_SUGGESTS "cleave ${same}")
set(CPACK_COMPONENT_NVMLSIM_DESCRIPTION "Simulated NVIDIA GPUs for programs that use NVML
 A management library of simulated GPUs with MIG, for tests of programs where
 there is no GPU. It is in a folder of its own, which the loader does not
 search: programs get it by LD_LIBRARY_PATH, or by cleave sim-node.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libcleave-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libfmt-dev, nlohmann-json3-dev, zlib1g-dev")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_RECOMMENDS "cleave ${same}")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "Schedulers, simulator and planner for NVIDIA MIG GPUs, as a library
 The static library behind cleave, with headers for programs in C++23 and
 files for CMake and pkg-config. The interface may change with every version.
 To plan and to learn, programs need the package cleave.")

include(CPack)
