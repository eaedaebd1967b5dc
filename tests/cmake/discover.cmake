# pencil_discover_tests(TARGET PREFIX): every test case of a Catch2 program (version 2 or 3) becomes a ctest named
# "PREFIX: test case". Cases with the tag [threads] get the label `threads`; one that says [skipped] counts as skipped.
#
# This file is both the function and, run by `cmake -P` after each build of the program, the script that lists its
# cases. Catch2's own catch_discover_tests does not do it: version 2 has no labels, and takes a program that crashes
# while listing for one that has no tests.

function(pencil_discover_tests target prefix)
  set(list ${CMAKE_CURRENT_BINARY_DIR}/${target}_tests.cmake)
  add_custom_command(TARGET ${target} POST_BUILD BYPRODUCTS ${list} VERBATIM
    COMMAND ${CMAKE_COMMAND} -D program=$<TARGET_FILE:${target}> -D prefix=${prefix} -D list=${list}
      -D catch_version=${Catch2_VERSION} -P ${PROJECT_SOURCE_DIR}/tests/cmake/discover.cmake)
  set(include ${CMAKE_CURRENT_BINARY_DIR}/${target}_include.cmake)
  file(WRITE ${include}
    "if(EXISTS [==[${list}]==])\n  include([==[${list}]==])\nelse()\n  add_test(${target}_not_built not_built)\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${include})
endfunction()

if(NOT CMAKE_SCRIPT_MODE_FILE)
  return()
endif()

cmake_policy(VERSION 3.25)

# Brackets and semicolons mean something to CMake's lists: while in one, names hold the bytes 1, 2 and 3 instead.
string(ASCII 1 2 3 placeholders)
function(swap variable from to)
  foreach(i 0 1 2)
    string(SUBSTRING "${from}" ${i} 1 old)
    string(SUBSTRING "${to}" ${i} 1 new)
    string(REPLACE "${old}" "${new}" ${variable} "${${variable}}")
  endforeach()
  set(${variable} "${${variable}}" PARENT_SCOPE)
endfunction()

# Puts the names of the test cases that match SPEC, with placeholders, into the list RESULT.
function(list_cases spec result)
  if(catch_version VERSION_LESS 3)
    set(flags --list-test-names-only)  # exit status: the number of cases
  else()
    set(flags --list-tests --verbosity quiet)
  endif()
  execute_process(COMMAND ${program} ${spec} ${flags}
    OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE status)
  if(NOT status MATCHES "^[0-9]+$" OR (catch_version VERSION_GREATER_EQUAL 3 AND status))
    message(FATAL_ERROR "${program} cannot list its tests: ${status}\n${output}${errors}")
  endif()
  swap(output "[];" "${placeholders}")
  string(STRIP "${output}" output)
  string(REGEX REPLACE "\n+" ";" output "${output}")
  set(${result} "${output}" PARENT_SCOPE)
endfunction()

list_cases("[threads]" threaded)
list_cases("*" cases)
set(script "")
foreach(case IN LISTS cases)
  swap(case "${placeholders}" "[];")
  string(REGEX REPLACE [==[([]"\,~[])]==] [==[\\\1]==] spec "${case}")  # what a Catch2 test spec reads as its own
  string(APPEND script "add_test([==[${prefix}: ${case}]==] [==[${program}]==] [==[${spec}]==])\n")
  string(APPEND script "set_tests_properties([==[${prefix}: ${case}]==] PROPERTIES SKIP_REGULAR_EXPRESSION [==[\\[skipped\\]]==])\n")
  swap(case "[];" "${placeholders}")
  if(case IN_LIST threaded)
    swap(case "${placeholders}" "[];")
    string(APPEND script "set_tests_properties([==[${prefix}: ${case}]==] PROPERTIES LABELS threads)\n")
  endif()
endforeach()
file(WRITE ${list} "${script}")
