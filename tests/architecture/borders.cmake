# Compares the includes of a source tree with its table of allowed dependencies, cmake/libraries.txt, and fails with a
# list
# of what does not fit:
#
#     cmake -DTREE=. -P tests/architecture/borders.cmake
#
# A script and no program, so that the commit hook can run it before anything is built.
cmake_minimum_required(VERSION 3.25)
get_filename_component(TREE ${TREE} ABSOLUTE BASE_DIR ${CMAKE_CURRENT_BINARY_DIR})
set(faults "")

# ---- The table: a folder, a colon, the folders that it may include, the packages that it links. Each may only name
# folders above it, so no circle
# can be written down. A line without files of its own (core:) is a collection of others.
file(STRINGS ${TREE}/cmake/libraries.txt table REGEX "^[a-z]")
set(listed "")
foreach(line IN LISTS table)
  string(REGEX MATCH "^([^:]+):(.*)$" _ "${line}")
  set(folder ${CMAKE_MATCH_1})
  separate_arguments(allowed UNIX_COMMAND "${CMAKE_MATCH_2}")
  list(FILTER allowed EXCLUDE REGEX "::") # packages
  foreach(name IN LISTS allowed)
    if(NOT name IN_LIST listed)
      list(APPEND faults "cmake/libraries.txt: ${folder} names ${name}, which has no line above it")
    endif()
    # Rules that hold regardless of the table.
    if(folder MATCHES "^core/" AND NOT name MATCHES "^core/")
      list(APPEND faults "cmake/libraries.txt: ${folder} names ${name}, and core depends on nothing outside core")
    elseif(folder MATCHES "^profiler/" AND name MATCHES "^(core/(analysis|recognise|optimize|report|live)|runtime|app|bindings)")
      list(APPEND faults "cmake/libraries.txt: ${folder} names ${name}, and the profiler records without analysing")
    elseif(folder MATCHES "^runtime" AND name MATCHES "^(app|bindings)")
      list(APPEND faults "cmake/libraries.txt: ${folder} names ${name}, and the runtime knows no user interface")
    endif()
  endforeach()
  if(folder IN_LIST listed)
    list(APPEND faults "cmake/libraries.txt: ${folder} has two lines")
  endif()
  list(APPEND listed ${folder})
  set("allowed ${folder}" ${allowed})
  set("used ${folder}" "")
endforeach()

# ---- The includes.
file(GLOB_RECURSE files RELATIVE ${TREE} ${TREE}/app/*.h ${TREE}/app/*.cpp ${TREE}/bindings/*.h ${TREE}/bindings/*.cpp
     ${TREE}/core/*.h ${TREE}/core/*.cpp ${TREE}/profiler/*.h ${TREE}/profiler/*.cpp ${TREE}/runtime/*.h
     ${TREE}/runtime/*.cpp ${TREE}/runtime/*.cu ${TREE}/runtime/*.cuh)
set(unlisted "")
set(includes 0)
foreach(file IN LISTS files)
  get_filename_component(folder ${file} DIRECTORY)
  if(NOT folder IN_LIST listed)
    list(APPEND unlisted ${folder})
    continue()
  endif()
  file(STRINGS ${TREE}/${file} lines REGEX "^ *# *include")
  foreach(line IN LISTS lines)
    if(line MATCHES "\"([^\"]+)\"")
      set(header ${CMAKE_MATCH_1})
      math(EXPR includes "${includes} + 1")
      get_filename_component(from ${header} DIRECTORY)
      # A header of Qt's meta-object compiler has no folder.
      if(from STREQUAL folder OR from STREQUAL "")
        continue()
      elseif(from IN_LIST "allowed ${folder}")
        list(APPEND "used ${folder}" ${from})
      else()
        list(APPEND faults "${file} includes ${header}, and cmake/libraries.txt does not let ${folder} use ${from}")
      endif()
    elseif(folder MATCHES "^core" AND line MATCHES "<(Q[A-Z][A-Za-z]*|cuda[a-z_]*\\.h|mpi\\.h|nccl\\.h)>")
      list(APPEND faults "${file} includes <${CMAKE_MATCH_1}>, and core is free of Qt, CUDA, NCCL and MPI")
    endif()
  endforeach()
endforeach()
list(REMOVE_DUPLICATES unlisted)
foreach(folder IN LISTS unlisted)
  list(APPEND faults "${folder} has no line in cmake/libraries.txt")
endforeach()

# ---- Permissions that nothing uses would let borders rot.
foreach(folder IN LISTS listed)
  file(GLOB own ${TREE}/${folder}/*.h ${TREE}/${folder}/*.cpp)
  if(own)
    foreach(name IN LISTS "allowed ${folder}")
      if(NOT name IN_LIST "used ${folder}")
        list(APPEND faults "cmake/libraries.txt: ${folder} names ${name} and includes nothing of it")
      endif()
    endforeach()
  endif()
endforeach()

if(faults)
  list(JOIN faults "\n  " text)
  message(FATAL_ERROR "Borders are broken:\n  ${text}")
endif()
list(LENGTH files file_count)
list(LENGTH listed folder_count)
message(STATUS "${includes} includes of ${file_count} files keep the borders of ${folder_count} folders")
