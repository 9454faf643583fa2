# Rules for the files installed besides the programs, and for packages: `./bootstrap package` makes a .deb.
include_guard()

set(resources ${PROJECT_SOURCE_DIR}/resources)
if(TARGET bubblescope-gui)
  install(FILES ${resources}/desktop/bubblescope.desktop DESTINATION ${CMAKE_INSTALL_DATADIR}/applications)
  install(FILES ${resources}/desktop/bubblescope-mime.xml DESTINATION ${CMAKE_INSTALL_DATADIR}/mime/packages
          RENAME bubblescope.xml)
  install(FILES ${resources}/icons/bubblescope.png DESTINATION ${CMAKE_INSTALL_DATADIR}/icons/hicolor/256x256/apps)
  install(FILES ${resources}/icons/bubblescope.svg DESTINATION ${CMAKE_INSTALL_DATADIR}/icons/hicolor/scalable/apps)
endif()
install(FILES ${PROJECT_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
install(DIRECTORY ${resources}/manual ${resources}/examples DESTINATION ${CMAKE_INSTALL_DOCDIR}
        PATTERN make EXCLUDE PATTERN cells EXCLUDE)

# Files that the program writes at installation: completion for shells, and manual pages.
set(shell ${PROJECT_BINARY_DIR}/shell)
install(CODE "
  set(program \"$<TARGET_FILE:bubblescope>\")
  set(shell \"${shell}\")")
install(CODE [[
  file(REMOVE_RECURSE "${shell}")
  file(MAKE_DIRECTORY "${shell}/man")
  foreach(completion IN ITEMS "bash;bubblescope" "zsh;_bubblescope" "fish;bubblescope.fish")
    list(GET completion 0 name)
    list(GET completion 1 file)
    file(MAKE_DIRECTORY "${shell}/${name}")
    execute_process(COMMAND "${program}" completion ${name} OUTPUT_FILE "${shell}/${name}/${file}"
                    COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  execute_process(COMMAND "${program}" help --man-pages "${shell}/man" COMMAND_ERROR_IS_FATAL ANY)
  file(GLOB pages "${shell}/man/*.1")
  find_program(GZIP gzip)
  if(GZIP)
    execute_process(COMMAND "${GZIP}" -9 -n ${pages} COMMAND_ERROR_IS_FATAL ANY)
  endif()]])
install(DIRECTORY ${shell}/bash/ DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(DIRECTORY ${shell}/zsh/ DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(DIRECTORY ${shell}/fish/ DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(DIRECTORY ${shell}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)

# cpack packs the files that were built, and does not build the tests.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)

# A wheel: all files are in the package's folder, with the same layout as an installation.
if(SKBUILD)
  if(NOT BUBBLESCOPE_WITH_PYTHON)
    message(FATAL_ERROR "a wheel needs Python's headers and pybind11 (Debian: python3-dev pybind11-dev)")
  endif()
  install(TARGETS bubblescope_python LIBRARY DESTINATION bubblescope COMPONENT wheel)
  install(TARGETS bubblescope RUNTIME DESTINATION bubblescope/bin COMPONENT wheel)
  install(TARGETS bubblescope_inject LIBRARY DESTINATION bubblescope/lib/bubblescope COMPONENT wheel)
  install(TARGETS bubblescope_aadiff LIBRARY DESTINATION bubblescope/lib COMPONENT wheel)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/profiler/python/ DESTINATION bubblescope/lib/bubblescope/python COMPONENT wheel
          FILES_MATCHING PATTERN "*.py")
  install(TARGETS bubblescope_native_ranges
          LIBRARY DESTINATION bubblescope/lib/bubblescope/python/bubblescope_adapters COMPONENT wheel)
  foreach(place . bubblescope/lib/bubblescope/python/bubblescope_adapters)
    install(FILES ${PROJECT_SOURCE_DIR}/bindings/bubblescope_aadiff.py DESTINATION ${place} COMPONENT wheel)
  endforeach()
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR "The Bubblescope authors")
set(CPACK_PACKAGE_CONTACT "The Bubblescope authors <bubblescope@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON) # on what the programs link, in the versions of the packages here
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"A desktop app and a command line for people who train large models with
pipeline parallelism: closed forms of bubbles, what made them longer, what a
change would save, and checks of computation inside them.")
if(TARGET bubblescope-gui)
  # Letters of the Chinese texts, Qt's own texts in Chinese, and windows without X.
  set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "fonts-noto-cjk, qt6-translations-l10n, qt6-wayland")
endif()
include(CPack)
