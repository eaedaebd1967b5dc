# An inline function that several object files hold is kept once by the linker, whichever file it comes from. Were one
# compiled for AVX-512 also called by ordinary code, a machine without AVX-512 would crash in it. So every such function
# in the objects of a set must name the set's architecture (as functions of lanes do), and no two sets may share one.

cmake_minimum_required(VERSION 3.25)

function(shareable set result)
  string(REPLACE "|" ";" objects "${${set}}")
  execute_process(COMMAND ${nm} --defined-only ${objects}
    OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[0-9a-f]+ [WVuw] [^\n]+" symbols "${symbols}")
  list(TRANSFORM symbols REPLACE "^[0-9a-f]+ . " "")
  list(FILTER symbols EXCLUDE REGEX "^DW\\.ref\\.")  # an address, not code
  list(REMOVE_DUPLICATES symbols)
  set(${result} "${symbols}" PARENT_SCOPE)
endfunction()

shareable(avx2 of_avx2)
shareable(avx512 of_avx512)

set(wrong "")
foreach(symbol IN LISTS of_avx2 of_avx512)
  if(NOT symbol MATCHES "avx")
    string(APPEND wrong "  names no instruction set: ${symbol}\n")
  endif()
endforeach()
foreach(symbol IN LISTS of_avx2)
  if(symbol IN_LIST of_avx512)
    string(APPEND wrong "  in both sets: ${symbol}\n")
  endif()
endforeach()

list(LENGTH of_avx2 n2)
list(LENGTH of_avx512 n512)
if(n2 EQUAL 0 OR n512 EQUAL 0)
  message(FATAL_ERROR "found no inline functions in the objects (avx2 ${n2}, avx512 ${n512}): nothing was tested")
endif()
if(wrong)
  message(FATAL_ERROR "inline functions that the linker may mix up between instruction sets:\n${wrong}")
endif()
message("${n2} inline functions for AVX2 and ${n512} for AVX-512, none shared")
