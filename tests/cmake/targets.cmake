# What every target of Pencil has in common: the language, warnings, sanitizers, the instruction set and the include
# root (paths start at the root of the repository: "autograd/tensor.hpp").

set(PENCIL_ROOT ${PROJECT_SOURCE_DIR})

# Settings of one target, whatever its type; an INTERFACE library has nothing to compile and gets the include root only.
function(pencil_settings target)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    target_compile_features(${target} INTERFACE cxx_std_20)
    target_include_directories(${target} INTERFACE ${PENCIL_ROOT})
    return()
  endif()
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PUBLIC ${PENCIL_ROOT})
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion)
  if(PENCIL_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(NOT PENCIL_PORTABLE)
    target_compile_options(${target} PRIVATE -march=native)
  endif()
  if(PENCIL_SANITIZE)
    target_compile_options(${target} PRIVATE
      -fsanitize=${PENCIL_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${PENCIL_SANITIZE})
  endif()
endfunction()

# For files that are all lanes: g++ takes minutes over each to watch the scope and the place of every register, and
# seconds without. (And xsimd converts what is about to be thrown away, infinity included, to whole numbers.)
function(pencil_lanes_unwatched)
  if(PENCIL_SANITIZE MATCHES "address")
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS
      "-fno-sanitize-address-use-after-scope;-fno-sanitize=null,alignment,float-cast-overflow")
  endif()
endfunction()

# Library pencil_NAME, alias pencil::NAME, of the given sources; a folder that has only headers makes an INTERFACE one.
function(pencil_library name)
  if(ARGN)
    add_library(pencil_${name} ${ARGN})
  else()
    add_library(pencil_${name} INTERFACE)
  endif()
  add_library(pencil::${name} ALIAS pencil_${name})
  pencil_settings(pencil_${name})
endfunction()

# Links LIBRARIES to a library made by pencil_library: publicly, or for an INTERFACE library to its users.
function(pencil_link name)
  get_target_property(type pencil_${name} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    target_link_libraries(pencil_${name} INTERFACE ${ARGN})
  else()
    target_link_libraries(pencil_${name} PUBLIC ${ARGN})
  endif()
endfunction()
