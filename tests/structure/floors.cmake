# cmake -D root=DIR -P floors.cmake: reads every #include under DIR and fails, naming the line's file, when one points up
# the house. The floors, lowest first, each with the floors it may include beside itself:
#
#   base     numbers and memory: no Tensor                       nothing
#   tensor   values with a shape                                 base
#   files    tensors in files                                    base tensor
#   kernels  loops on pointers                                   base
#   tape     steps and the sweep                                 base tensor
#   ops      the only place where kernels and the tape meet      base tensor kernels tape
#   inspect  reads a tape                                        base tensor files kernels tape ops
#   all      autograd/autograd.hpp, for those above only         base tensor files kernels tape ops inspect
#   nn, optim  side by side                                      everything of autograd
#   examples   seen by nobody                                    everything

cmake_minimum_required(VERSION 3.25)

set(floors_autograd base tensor files kernels tape ops inspect)
set(below_base "")
set(below_tensor base)
set(below_files base tensor)
set(below_kernels base)
set(below_tape base tensor)
set(below_ops base tensor kernels tape)
set(below_inspect base tensor files kernels tape ops)
set(below_all ${floors_autograd})
set(below_nn ${floors_autograd} all)
set(below_optim ${floors_autograd} all)
set(below_examples ${floors_autograd} all nn optim)

# The floor on which a path stands; FLOOR is empty for what is no part of the house (tests).
function(floor_of path result)
  set(floor "")
  if(path MATCHES "^autograd/(dtype|error|pool|random|select|shape)\\.")
    set(floor base)
  elseif(path MATCHES "^autograd/(tensor|create)\\.")
    set(floor tensor)
  elseif(path MATCHES "^autograd/autograd\\.hpp$")
    set(floor all)
  elseif(path MATCHES "^autograd/(files|kernels|ops|inspect)/")
    set(floor ${CMAKE_MATCH_1})
  elseif(path MATCHES "^autograd/")
    set(floor tape)
  elseif(path MATCHES "^(nn|optim|examples)/")
    set(floor ${CMAKE_MATCH_1})
  endif()
  set(${result} "${floor}" PARENT_SCOPE)
endfunction()

file(GLOB_RECURSE sources RELATIVE ${root}
  ${root}/autograd/*.[ch]pp ${root}/nn/*.[ch]pp ${root}/optim/*.[ch]pp ${root}/examples/*.[ch]pp)
if(NOT sources)
  message(FATAL_ERROR "no sources under ${root}")
endif()

set(faults "")
set(count 0)
foreach(source IN LISTS sources)
  floor_of(${source} from)
  file(STRINGS ${root}/${source} lines REGEX "^[ \t]*#[ \t]*include[ \t]*[\"<]")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "include[ \t]*([\"<])([^\">]+)" match "${line}")
    set(quote "${CMAKE_MATCH_1}")
    set(target "${CMAKE_MATCH_2}")
    if(target MATCHES "^(autograd|nn|optim|examples|tests)/")
      math(EXPR count "${count} + 1")
      floor_of(${target} to)
      if(NOT to)
        string(APPEND faults "${source}: includes ${target}, which is no part of the house\n")
      elseif(NOT to STREQUAL from AND NOT to IN_LIST below_${from})
        string(APPEND faults "${source}: includes ${target}; ${from} may not see ${to}\n")
      endif()
    elseif(quote STREQUAL "\"")
      string(APPEND faults "${source}: includes \"${target}\"; write the path from the root of the repository\n")
    endif()
  endforeach()
endforeach()

if(faults)
  message(FATAL_ERROR "arrows that point up (the floors stand in tests/structure/floors.cmake):\n${faults}")
endif()
list(LENGTH sources files)
message(STATUS "${count} includes in ${files} files, all pointing down")
