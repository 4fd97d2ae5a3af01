# Two Debian packages by CPack: shardscope-headless (shardrun, presets, manual pages, completion) and shardscope (the
# window), which needs the first. Programs are in lib/shardscope, where they find each other, and linked from bin.
set(CMAKE_INSTALL_PREFIX /usr CACHE PATH "" FORCE)
set(private lib/shardscope)

function(install_link name component)
  install(CODE "
    file(MAKE_DIRECTORY \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/bin\")
    file(CREATE_LINK ../${private}/${name} \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/bin/${name}\" SYMBOLIC)"
    COMPONENT ${component})
endfunction()

# What Debian asks of every package: its licence and what changed, compressed.
function(install_notes package component)
  install(FILES LICENSE DESTINATION share/doc/${package} RENAME copyright COMPONENT ${component})
  install(CODE "
    set(to \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/doc/${package}/changelog.gz\")
    execute_process(COMMAND gzip -9nc ${CMAKE_SOURCE_DIR}/CHANGELOG.md OUTPUT_FILE \"\${to}\" COMMAND_ERROR_IS_FATAL ANY)"
    COMPONENT ${component})
endfunction()

install(TARGETS shardrun DESTINATION ${private} COMPONENT headless)
install(TARGETS shardscope_mpi_guard DESTINATION ${private} COMPONENT headless)
install_link(shardrun headless)
install(DIRECTORY presets DESTINATION share/shardscope COMPONENT headless)
install_notes(shardscope-headless headless)
# Written by the program itself, from the definitions of its commands.
install(CODE "
  set(root \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
  set(program \"$<TARGET_FILE:shardrun>\")
  execute_process(COMMAND \${program} man --into \${root}/share/man/man1 COMMAND_ERROR_IS_FATAL ANY)
  file(GLOB pages \${root}/share/man/man1/*.1)
  execute_process(COMMAND gzip -9nf \${pages} COMMAND_ERROR_IS_FATAL ANY)
  foreach(entry bash=bash-completion/completions/shardrun zsh=zsh/vendor-completions/_shardrun
      fish=fish/vendor_completions.d/shardrun.fish)
    string(REPLACE = \";\" entry \${entry})
    list(GET entry 0 shell)
    list(GET entry 1 path)
    cmake_path(GET path PARENT_PATH folder)
    file(MAKE_DIRECTORY \${root}/share/\${folder})
    execute_process(COMMAND \${program} completion \${shell} OUTPUT_FILE \${root}/share/\${path} COMMAND_ERROR_IS_FATAL ANY)
  endforeach()"
  COMPONENT headless)

string(TIMESTAMP RELEASE_DATE "%Y-%m-%d" UTC)
configure_file(packages/io.github.shardscope.metainfo.xml.in generated/io.github.shardscope.metainfo.xml @ONLY)
configure_file(packages/shardscope.1.in generated/shardscope.1 @ONLY)
install(TARGETS shardscope DESTINATION ${private} COMPONENT window)
install_link(shardscope window)
install(FILES packages/shardscope.desktop DESTINATION share/applications COMPONENT window)
install(FILES packages/shardscope-mime.xml DESTINATION share/mime/packages RENAME shardscope.xml COMPONENT window)
install(FILES resources/icons/shardscope.svg DESTINATION share/icons/hicolor/scalable/apps COMPONENT window)
install(FILES ${CMAKE_BINARY_DIR}/generated/io.github.shardscope.metainfo.xml DESTINATION share/metainfo COMPONENT window)
install(CODE "
  set(page \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/man/man1/shardscope.1.gz\")
  file(MAKE_DIRECTORY \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/man/man1\")
  execute_process(COMMAND gzip -9nc ${CMAKE_BINARY_DIR}/generated/shardscope.1 OUTPUT_FILE \"\${page}\"
    COMMAND_ERROR_IS_FATAL ANY)"
  COMPONENT window)
install_notes(shardscope window)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME shardscope)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The Shardscope authors <shardscope@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL headless window)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)
set(CPACK_DEBIAN_HEADLESS_PACKAGE_NAME shardscope-headless)
set(CPACK_DEBIAN_HEADLESS_PACKAGE_DEPENDS "openmpi-bin")
set(CPACK_DEBIAN_HEADLESS_DESCRIPTION "plan and train sharded neural networks, without a window
 shardrun plans how a neural network is split over a device mesh (layouts, memory, collectives, time), and trains that
 plan on MPI ranks.")
set(CPACK_DEBIAN_WINDOW_PACKAGE_NAME shardscope)
set(CPACK_DEBIAN_WINDOW_PACKAGE_DEPENDS "shardscope-headless (= ${PROJECT_VERSION}), fonts-dejavu-core")
set(CPACK_DEBIAN_WINDOW_DESCRIPTION "design how a neural network is split over a device mesh
 Shardscope shows what a sharding means: which part of every array each device holds, which collectives a training step
 needs, memory and time; and trains that very plan on MPI ranks.")
include(CPack)
