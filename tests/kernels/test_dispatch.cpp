#include <cstdlib>
#include <string>

#include "autograd/kernels/dispatch.hpp"
#include "tests/catch.hpp"

using namespace pencil::kernels;

TEST_CASE("The instruction set in use is the one that PENCIL_ISA names") {
  CHECK((isa_name() == "baseline" || isa_name() == "avx2" || isa_name() == "avx512"));
  CHECK(isa_name() == isa_name(isa()));
  const char* const wish = std::getenv("PENCIL_ISA");
  if (wish != nullptr && *wish != '\0') CHECK(isa_name() == wish);
}
