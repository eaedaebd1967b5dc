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
pencil_refused("a formula of doubles does not compile" of_double "write auto for each argument")
pencil_refused("a formula with a function that lanes lack does not compile" missing_function "formulas have no tan: write sin")
pencil_refused("a formula that gives a comparison does not compile" gives_a_comparison "write select\\(condition, 1, 0\\)")
pencil_refused("a formula that captures a tensor does not compile" captures_a_tensor "give it a tensor as an argument")
pencil_refused("an if on rows does not compile" if_on_rows "write select\\(condition, a, b\\)")
pencil_refused("a reduction that gives a row does not compile" row_for_a_number "make it with row_formula")
pencil_refused("a row formula that gives a number does not compile" number_for_a_row "make it with reduction")

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
