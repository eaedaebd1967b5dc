# cmake -Dnm=PROGRAM -Dset=avx2|avx512 -Dobjects=FILES -P isa_symbols.cmake: fails when kernels compiled for an instruction set
# define a weak symbol that does not carry the name of the set. Such a function (an inline one of the standard library, say)
# can stand in other objects too; the linker keeps any one of them, and a processor without the instructions may meet it.
cmake_minimum_required(VERSION 3.25)

execute_process(COMMAND ${nm} --defined-only --extern-only --format=posix ${objects}
  OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "\n+" ";" symbols "${symbols}")
list(FILTER symbols INCLUDE REGEX " [VWu] ")
list(LENGTH symbols count)
if(count EQUAL 0)
  message(FATAL_ERROR "no weak symbols at all in: ${objects}")
endif()
list(FILTER symbols EXCLUDE REGEX "^DW\\.ref\\.|${set}")  # DW.ref.: an address for exceptions, no code
if(symbols)
  list(JOIN symbols "\n" symbols)
  message(FATAL_ERROR "of ${count} weak symbols of the kernels for ${set} these do not carry its name:\n${symbols}")
endif()
message(STATUS "${count} weak symbols, all named for ${set}")
