# Finds the libraries Pencil stands on. What is missing is listed whole, each with the Debian package that brings it,
# and CMake stops. Imported targets are global, so that a project which adds Pencil can link it from any folder.

set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)
set(missing_libraries "")
set(missing_packages "")

# Notes library WHAT, brought by the Debian package PACKAGE, as missing unless all the named variables are true.
macro(pencil_need what package)
  foreach(found ${ARGN})
    if(NOT ${found})
      string(APPEND missing_libraries "  ${what}: ${package}\n")
      list(APPEND missing_packages ${package})
      break()
    endif()
  endforeach()
endmacro()

find_package(Threads QUIET)
pencil_need("POSIX threads" libc6-dev Threads_FOUND)

find_package(fmt 9 QUIET)
pencil_need("fmt 9 or newer" libfmt-dev fmt_FOUND)

# Headers only, found by hand: Debian's package configuration of xsimd wants a library, xtl, that nothing here uses.
find_path(PENCIL_XSIMD_INCLUDE NAMES xsimd/xsimd.hpp)
set(xsimd_found OFF)
if(PENCIL_XSIMD_INCLUDE)
  file(STRINGS ${PENCIL_XSIMD_INCLUDE}/xsimd/config/xsimd_config.hpp xsimd_major REGEX "XSIMD_VERSION_MAJOR [0-9]+")
  if(xsimd_major MATCHES "([0-9]+)" AND CMAKE_MATCH_1 GREATER_EQUAL 8)
    set(xsimd_found ON)
  endif()
endif()
pencil_need("xsimd 8 or newer" libxsimd-dev xsimd_found)

find_package(nlohmann_json 3 QUIET)
pencil_need("JSON for Modern C++ 3" nlohmann-json3-dev nlohmann_json_FOUND)

find_package(Boost 1.74 QUIET CONFIG)
pencil_need("Boost 1.74 or newer" libboost-dev Boost_FOUND)
if(PENCIL_EXAMPLES)
  find_package(Boost 1.74 QUIET CONFIG COMPONENTS program_options)
  pencil_need("Boost.Program_options" libboost-program-options-dev boost_program_options_FOUND)
endif()

if(PENCIL_TESTS)
  find_package(Catch2 QUIET)
  pencil_need("Catch2, 2.13 or 3" catch2 Catch2_FOUND)
endif()

# BLAS and LAPACK through their C interfaces, CBLAS and LAPACKE. OpenBLAS unless BLA_VENDOR says otherwise. Some
# vendors (MKL) carry LAPACKE inside the library that brings BLAS; Debian keeps it in a library of its own.
if(NOT BLA_VENDOR AND NOT DEFINED ENV{BLA_VENDOR})
  set(BLA_VENDOR OpenBLAS)
endif()
find_package(BLAS QUIET)
find_path(PENCIL_CBLAS_INCLUDE NAMES cblas.h mkl_cblas.h PATH_SUFFIXES openblas mkl)
find_path(PENCIL_LAPACKE_INCLUDE NAMES lapacke.h mkl_lapacke.h PATH_SUFFIXES openblas mkl)
set(lapacke_found ${PENCIL_LAPACKE_INCLUDE})
set(lapacke_library "")
if(BLAS_FOUND)
  include(CheckFunctionExists)
  set(CMAKE_REQUIRED_LIBRARIES ${BLAS_LIBRARIES})
  set(CMAKE_REQUIRED_QUIET ON)
  check_function_exists(LAPACKE_dgesdd PENCIL_BLAS_HAS_LAPACKE)
  unset(CMAKE_REQUIRED_LIBRARIES)
  unset(CMAKE_REQUIRED_QUIET)
  if(NOT PENCIL_BLAS_HAS_LAPACKE)
    find_library(PENCIL_LAPACKE_LIBRARY lapacke)
    set(lapacke_library ${PENCIL_LAPACKE_LIBRARY})
    set(lapacke_found ${PENCIL_LAPACKE_LIBRARY})
  endif()
endif()
pencil_need("BLAS with its C interface (BLA_VENDOR=${BLA_VENDOR})" libopenblas-dev BLAS_FOUND PENCIL_CBLAS_INCLUDE)
pencil_need("LAPACKE" liblapacke-dev PENCIL_LAPACKE_INCLUDE lapacke_found)

if(missing_packages)
  list(REMOVE_DUPLICATES missing_packages)
  list(JOIN missing_packages " " missing_packages)
  message(FATAL_ERROR
    "Libraries are missing (what: the Debian package that brings it):\n${missing_libraries}"
    "On Debian: apt-get install ${missing_packages}")
endif()

# pencil::xsimd: lanes of numbers.
if(NOT TARGET pencil::xsimd)
  add_library(pencil::xsimd INTERFACE IMPORTED GLOBAL)
  target_include_directories(pencil::xsimd SYSTEM INTERFACE ${PENCIL_XSIMD_INCLUDE})
endif()

# pencil::blas: CBLAS and LAPACKE with their headers.
if(NOT TARGET pencil::blas)
  add_library(pencil::blas INTERFACE IMPORTED GLOBAL)
  target_link_libraries(pencil::blas INTERFACE ${lapacke_library} BLAS::BLAS)
  target_include_directories(pencil::blas SYSTEM INTERFACE ${PENCIL_CBLAS_INCLUDE} ${PENCIL_LAPACKE_INCLUDE})
endif()
