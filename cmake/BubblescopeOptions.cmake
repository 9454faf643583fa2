# Options, and the interface target that every target of ours links for language level, warnings and sanitizers.
include_guard()

option(BUBBLESCOPE_TESTS "Build the tests" ON)
option(BUBBLESCOPE_FUZZ "Build the libFuzzer programs (needs Clang)" OFF)
option(BUBBLESCOPE_BENCHMARKS "Build the benchmarks (needs Google Benchmark)" OFF)
option(BUBBLESCOPE_WERROR "Treat warnings as errors" OFF)
option(BUBBLESCOPE_CHECKS "Build checks in bubbles (aadiff) into runs; a program without refuses run --aadiff" ON)
option(BUBBLESCOPE_CUDA "Build the CUDA backend where the toolkit is found" ON)
option(BUBBLESCOPE_GUI "Build the Qt app where Qt 6 is found" ON)
option(BUBBLESCOPE_PYTHON "Build the Python package where Python's headers and pybind11 are found" ON)
option(BUBBLESCOPE_PCH "Precompile the standard library's and GoogleTest's headers: a third less to compile" ON)
option(BUBBLESCOPE_UNITY "Compile a library's files eight at a time, for builds from nothing: half the time" OFF)
option(BUBBLESCOPE_OLD_LIBC "Link what users run or load so that it runs with glibc 2.28 and its own C++ runtime" OFF)
option(BUBBLESCOPE_HARDENED "Compile with stack protection, FORTIFY and control-flow protection" ON)
set(BUBBLESCOPE_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize= (address,undefined or thread)")

# For generator expressions: a list with a comma is more than one parameter there.
set(sanitized 0)
if(BUBBLESCOPE_SANITIZE)
  set(sanitized 1)
endif()

add_library(bubblescope_options INTERFACE)
target_compile_features(bubblescope_options INTERFACE cxx_std_20)
target_include_directories(bubblescope_options INTERFACE ${PROJECT_SOURCE_DIR})
set(host_warnings -Wall -Wextra -Wconversion -Wshadow $<$<BOOL:${BUBBLESCOPE_WERROR}>:-Werror>)
target_compile_options(bubblescope_options INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:${host_warnings}>"
  "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra;$<$<BOOL:${BUBBLESCOPE_WERROR}>:-Werror=all-warnings>>")
# GCC 12 reports overlaps, overflows and uninitialised bytes in inlined std::string code that do not exist (GCC bugs
# 105651, 105329 and 105562), and with precompiled headers treats such code as ours.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(bubblescope_options INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict;-Wno-stringop-overflow>"
    "$<$<AND:$<OR:$<CONFIG:Release>,${sanitized}>,$<COMPILE_LANGUAGE:CXX>>:\
-Wno-maybe-uninitialized;-Wno-array-bounds;-Wno-stringop-overread>")
endif()
# GCC collects garbage from 128 MB on, which takes up to a quarter of the time to compile. Without it files need up to
# 300 MB
# more, 1.3 GB at most.
target_compile_options(bubblescope_options INTERFACE
  "$<$<AND:$<CXX_COMPILER_ID:GNU>,$<COMPILE_LANGUAGE:CXX>>:--param=ggc-min-heapsize=1200000>")
# GCC warns that its thread sanitizer does not see the fences in Asio; they are used together with atomics that it sees.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND BUBBLESCOPE_SANITIZE STREQUAL "thread")
  target_compile_options(bubblescope_options INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-Wno-tsan>")
endif()
# Where files are compiled together, a name of one is shadowed by a local one of another, and everything is in an
# included
# file. The dev preset compiles, and warns, file by file.
if(BUBBLESCOPE_UNITY)
  target_compile_options(bubblescope_options INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:-Wno-shadow;$<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>>")
endif()
# One kind of code for programs and for libraries that others load, so that objects serve both.
target_compile_options(bubblescope_options INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:-fPIC;-fvisibility=hidden;-fvisibility-inlines-hidden>")
if(BUBBLESCOPE_SANITIZE)
  set(sanitize -fsanitize=${BUBBLESCOPE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_compile_options(bubblescope_options INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${sanitize}>")
  target_link_options(bubblescope_options INTERFACE -fsanitize=${BUBBLESCOPE_SANITIZE})
endif()

# Options that end the program at many memory errors. Sanitizers find the same errors and more, so they are built
# without these options, and dev without them for speed. FORTIFY needs optimised code.
if(BUBBLESCOPE_HARDENED AND NOT BUBBLESCOPE_SANITIZE)
  include(CheckCXXCompilerFlag)
  set(hardening -fstack-protector-strong)
  foreach(flag IN ITEMS -fstack-clash-protection -fcf-protection=full)
    string(MAKE_C_IDENTIFIER "BUBBLESCOPE_TAKES${flag}" taken)
    check_cxx_compiler_flag(${flag} ${taken})
    if(${taken})
      list(APPEND hardening ${flag})
    endif()
  endforeach()
  set(optimised $<NOT:$<OR:$<CONFIG:Debug>,$<BOOL:$<TARGET_PROPERTY:BUBBLESCOPE_QUICKLY>>>>)
  target_compile_options(bubblescope_options INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${hardening}>"
    "$<$<AND:$<COMPILE_LANGUAGE:CXX>,${optimised}>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=3>")
endif()

# bubblescope_for_old_libc(<name>): links a program or library with glibc's functions in the versions of 2.28, and with
# the C++ runtime in it.
function(bubblescope_for_old_libc name)
  set(sources ${PROJECT_SOURCE_DIR}/cmake/old_libc.cpp)
  get_target_property(type ${name} TYPE)
  if(type STREQUAL "EXECUTABLE")
    list(APPEND sources ${PROJECT_SOURCE_DIR}/cmake/old_start.cpp)
  else() # static libraries are compiled for programs: nobody else may replace their names
    target_link_options(${name} PRIVATE -Wl,--exclude-libs,ALL)
  endif()
  if(NOT BUBBLESCOPE_SANITIZE) # sanitizers replace some of the same functions
    target_sources(${name} PRIVATE ${sources})
  endif()
  # Before other headers, which declare some of the functions as visible.
  set_source_files_properties(${sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON)
  target_link_options(${name} PRIVATE -static-libstdc++ -static-libgcc -Wl,--gc-sections
    # Before glibc 2.34 threads, dlopen() and shared memory are in libraries of their own.
    -Wl,--no-as-needed -l:libpthread.so.0 -l:libdl.so.2 -l:librt.so.1 -Wl,--as-needed)
endfunction()

# bubblescope_linked_safely(<name>…): loaded tables cannot be changed after linking, and stacks are not executable. For
# everything that users run or load.
function(bubblescope_linked_safely)
  foreach(name IN LISTS ARGN)
    if(BUBBLESCOPE_OLD_LIBC)
      bubblescope_for_old_libc(${name})
    endif()
    target_link_options(${name} PRIVATE -Wl,-z,relro,-z,now,-z,noexecstack
      $<$<STREQUAL:$<TARGET_PROPERTY:${name},TYPE>,EXECUTABLE>:-pie>)
  endforeach()
endfunction()

# libFuzzer needs the branches of the readers, not those of tests. This build leaves out the checks for undefined
# behaviour that the address sanitizer or the compiler makes as well: a third less to compile. The asan preset has all
# of them.
if(BUBBLESCOPE_FUZZ)
  target_compile_options(bubblescope_options INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=\
null,pointer-overflow,object-size,vptr,function,return,nonnull-attribute,returns-nonnull-attribute>")
  set(seen $<NOT:$<BOOL:$<TARGET_PROPERTY:BUBBLESCOPE_QUICKLY>>>)
  target_compile_options(bubblescope_options INTERFACE
    "$<$<AND:${seen},$<COMPILE_LANGUAGE:CXX>>:-fsanitize=fuzzer-no-link>")
  # Counters of all branches in the readers, by which their work is measured, see tests/fuzz/meter.h. In other code they
  # would add a fifth to the time of compiling. The fuzz-fast preset, which maximises the number of inputs, has neither
  # these counters nor sanitizers.
  set(branch_counters $<${sanitized}:-fprofile-instr-generate=/dev/null>)
  target_link_options(bubblescope_options INTERFACE ${branch_counters})
endif()

# GNU ld takes seconds for a program with sanitizers, and most of a second for any other. There are dozens of tests.
include(CheckLinkerFlag)
set(bubblescope_fast_linker "")
foreach(linker mold lld gold)
  check_linker_flag(CXX -fuse-ld=${linker} BUBBLESCOPE_HAS_${linker})
  if(BUBBLESCOPE_HAS_${linker})
    set(bubblescope_fast_linker -fuse-ld=${linker})
    break()
  endif()
endforeach()
if(BUBBLESCOPE_FUZZ)
  target_link_options(bubblescope_options INTERFACE ${bubblescope_fast_linker})
endif()

# bubblescope_compile_quickly(<name>…): for tests and the headers they precompile: compiled without optimisation, which
# saves time, above all with sanitizers. The code under test is compiled as the preset states.
function(bubblescope_compile_quickly)
  foreach(name IN LISTS ARGN)
    if(TARGET ${name})
      set_target_properties(${name} PROPERTIES BUBBLESCOPE_QUICKLY ON)
      target_compile_options(${name} PRIVATE
        "$<$<AND:$<OR:$<CONFIG:Release>,$<BOOL:${BUBBLESCOPE_FUZZ}>>,$<COMPILE_LANGUAGE:CXX>>:-O0>")
    endif()
  endforeach()
endfunction()

find_program(CCACHE_PROGRAM ccache)
mark_as_advanced(CCACHE_PROGRAM)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Without the sloppiness ccache skips files with precompiled headers; no source of ours uses the time of day. With
  # paths relative to this folder, checkouts in other folders share their compiled files.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
    CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE_PROGRAM})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

# bubblescope_together(<name>): the files of each of its folders are compiled eight at a time if BUBBLESCOPE_UNITY is
# set. No two files of such a folder may have helpers with the same name.
function(bubblescope_together name)
  set_target_properties(${name} PROPERTIES UNITY_BUILD ${BUBBLESCOPE_UNITY} UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${name} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  foreach(source IN LISTS sources)
    get_filename_component(path ${source} ABSOLUTE)
    get_filename_component(folder ${path} DIRECTORY)
    file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${folder})
    if(NOT DEFINED count_${folder})
      set(count_${folder} 0)
    endif()
    math(EXPR batch "${count_${folder}} / 8")
    math(EXPR count_${folder} "${count_${folder}} + 1")
    string(MAKE_C_IDENTIFIER "${folder}_${batch}" group)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
  endforeach()
endfunction()

# ---- Libraries ------------------------------------------------------------------------------------------
# libraries.txt is the only table of allowed dependencies. A folder with a CMakeLists.txt is a library of its own; all
# others belong to the library of their first two names: core/analysis/clocks to core/analysis. Libraries get their
# links from the table, and tests/architecture compares the includes of every folder with it.
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/libraries.txt bubblescope_library_table REGEX "^[a-z]")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/libraries.txt)

# With BUBBLESCOPE_FUZZ these are compiled quickly: no fuzzed reader is among them or uses them, and their tests take
# little.
set(bubblescope_not_fuzzed "^(app/cli|core/(demo|optimize|report|request)|profiler/kernels|runtime/(checks|faults|launch))(/|$)")

# With BUBBLESCOPE_FUZZ the branches of these are counted: the readers, and the trace that they make.
set(bubblescope_metered "^core/(base|formats|trace)(/|$)")

# bubblescope_target(<out> <folder>): the target that holds a folder's sources.
function(bubblescope_target out folder)
  if(NOT EXISTS ${PROJECT_SOURCE_DIR}/${folder}/CMakeLists.txt AND folder MATCHES "^([^/]+/[^/]+)/")
    set(folder ${CMAKE_MATCH_1})
  endif()
  string(REPLACE "/" "_" name ${folder})
  set(${out} bubblescope_${name} PARENT_SCOPE)
endfunction()

# bubblescope_dependencies(<out> <folder>…): the targets of what the table allows these folders to use: other folders,
# and
# packages by the names of their targets.
function(bubblescope_dependencies out)
  set(targets "")
  foreach(folder IN LISTS ARGN)
    set(found OFF)
    foreach(line IN LISTS bubblescope_library_table)
      if(line MATCHES "^${folder}:(.*)$")
        set(found ON)
        separate_arguments(names UNIX_COMMAND "${CMAKE_MATCH_1}")
        foreach(name IN LISTS names)
          if(name MATCHES "::")
            set(target ${name})
          else()
            bubblescope_target(target ${name})
          endif()
          list(APPEND targets ${target})
        endforeach()
      endif()
    endforeach()
    if(NOT found)
      message(FATAL_ERROR "cmake/libraries.txt has no line for ${folder}: say there what it may depend on")
    endif()
  endforeach()
  list(REMOVE_DUPLICATES targets)
  set(${out} ${targets} PARENT_SCOPE)
endfunction()

# bubblescope_libraries(<top> <out>): all libraries of the folders below core, profiler or runtime, and their targets.
function(bubblescope_libraries top out)
  set(libraries "")
  set(targets "")
  foreach(line IN LISTS bubblescope_library_table)
    if(line MATCHES "^(${top}/[^:]+):")
      set(folder ${CMAKE_MATCH_1})
      if(EXISTS ${PROJECT_SOURCE_DIR}/${folder}/CMakeLists.txt)
        add_subdirectory(${PROJECT_SOURCE_DIR}/${folder})
        bubblescope_target(target ${folder})
        if(TARGET ${target})
          list(APPEND targets ${target})
        endif()
      else()
        string(REGEX MATCH "^[^/]+/[^/]+" library ${folder})
        list(APPEND libraries ${library})
        list(APPEND folders_${library} ${folder})
      endif()
    endif()
  endforeach()
  list(REMOVE_DUPLICATES libraries)
  foreach(library IN LISTS libraries)
    bubblescope_library(FOLDERS ${folders_${library}})
    bubblescope_target(target ${library})
    list(APPEND targets ${target})
  endforeach()
  set(${out} ${targets} PARENT_SCOPE)
endfunction()

# bubblescope_library([NAME …] [FOLDERS …] [SOURCES …] [LINK …] [LINK_PRIVATE …] [PRECOMPILED …]): a library of all
# sources of these folders, or of the current one, unless sources are given. LINK and LINK_PRIVATE name libraries that
# are not in the table.
function(bubblescope_library)
  cmake_parse_arguments(arg "" "NAME;PRECOMPILED" "FOLDERS;SOURCES;LINK;LINK_PRIVATE" ${ARGN})
  if(NOT arg_FOLDERS)
    file(RELATIVE_PATH arg_FOLDERS ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  endif()
  list(GET arg_FOLDERS 0 folder)
  if(arg_NAME)
    set(name ${arg_NAME})
    set(dependencies "")
  else()
    bubblescope_target(name ${folder})
    bubblescope_dependencies(dependencies ${arg_FOLDERS})
    list(REMOVE_ITEM dependencies ${name})
  endif()
  if(NOT arg_SOURCES)
    foreach(one IN LISTS arg_FOLDERS)
      file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${one}/*.cpp)
      list(APPEND arg_SOURCES ${sources})
    endforeach()
  endif()
  set(quickly OFF)
  if(BUBBLESCOPE_FUZZ AND folder MATCHES "${bubblescope_not_fuzzed}")
    set(quickly ON)
  endif()
  if(NOT arg_PRECOMPILED)
    set(arg_PRECOMPILED bubblescope_headers)
    if(quickly)
      set(arg_PRECOMPILED bubblescope_quick_headers)
    endif()
  endif()
  if(arg_SOURCES)
    add_library(${name} STATIC ${arg_SOURCES})
    target_link_libraries(${name} PUBLIC bubblescope_options ${dependencies} ${arg_LINK} PRIVATE ${arg_LINK_PRIVATE})
    if(quickly)
      bubblescope_compile_quickly(${name})
    endif()
    if(BUBBLESCOPE_FUZZ AND folder MATCHES "${bubblescope_metered}")
      target_compile_options(${name} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${branch_counters}>")
    endif()
    bubblescope_precompiled(${name} ${arg_PRECOMPILED})
    bubblescope_together(${name})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE bubblescope_options ${dependencies} ${arg_LINK})
  endif()
endfunction()

# bubblescope_precompiled(<name> <headers>): compiles a target with what `headers` precompiled. Sources still include
# all headers that they use: builds with BUBBLESCOPE_PCH=OFF need that.
function(bubblescope_precompiled name headers)
  get_target_property(sources ${name} SOURCES)
  if(BUBBLESCOPE_PCH AND NOT sources MATCHES "\\.cu(;|$)")
    target_precompile_headers(${name} REUSE_FROM ${headers})
    target_link_libraries(${name} PRIVATE fmt::fmt) # with its definitions the headers were precompiled
  endif()
endfunction()

# bubblescope_headers_library(<name> HEADERS … LINK …): precompiles headers once for many targets.
function(bubblescope_headers_library name)
  cmake_parse_arguments(arg "" "" "HEADERS;LINK" ${ARGN})
  if(NOT BUBBLESCOPE_PCH)
    return()
  endif()
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp CONTENT "// holds precompiled headers only\n")
  add_library(${name} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  target_link_libraries(${name} PRIVATE bubblescope_options ${arg_LINK})
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
endfunction()
