# Tests of kernels that are no test cases: programs that must not compile, and what each instruction set brings along.

# The compiler refuses a program with the text of a static_assert.
function(pencil_refused name program text)
  get_target_property(xsimd pencil::xsimd INTERFACE_INCLUDE_DIRECTORIES)
  add_test(NAME "kernels: ${name}" COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -fsyntax-only -march=native
    -I${PROJECT_SOURCE_DIR} -I${xsimd} -x c++ ${CMAKE_CURRENT_SOURCE_DIR}/kernels/refused/${program}.txt)
  set_tests_properties("kernels: ${name}" PROPERTIES PASS_REGULAR_EXPRESSION "${text}")
endfunction()

pencil_refused("an if on lanes does not compile" if_on_lanes "write select\\(condition, a, b\\)")
pencil_refused("a third derivative does not compile" third_derivative "first and second derivatives, not third")
pencil_refused("a formula of five arguments does not compile" five_arguments "one to four arguments")

add_test(NAME "kernels: an unknown PENCIL_ISA is refused" COMMAND test_kernels "The instruction set in use*")
set_tests_properties("kernels: an unknown PENCIL_ISA is refused" PROPERTIES ENVIRONMENT PENCIL_ISA=sse9
  PASS_REGULAR_EXPRESSION "unknown instruction set .sse9.. need baseline, avx2 or avx512")

if(TARGET pencil_isa_avx2)
  foreach(set baseline avx2 avx512)
    add_test(NAME "kernels: all tests with ${set}" COMMAND test_kernels)
    set_tests_properties("kernels: all tests with ${set}" PROPERTIES ENVIRONMENT PENCIL_ISA=${set}
      SKIP_REGULAR_EXPRESSION "this machine does not have")
  endforeach()
  set(objects "")
  foreach(set avx2 avx512)
    list(APPEND objects "-D${set}=$<JOIN:$<TARGET_OBJECTS:pencil_isa_${set}>,|>")
  endforeach()
  add_test(NAME "kernels: instruction sets share no code" COMMAND ${CMAKE_COMMAND} -Dnm=${CMAKE_NM} ${objects}
    -P ${CMAKE_CURRENT_SOURCE_DIR}/kernels/shared_code.cmake)
endif()
