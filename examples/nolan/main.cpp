#include "examples/common/command_line.hpp"
#include "examples/nolan/nolan.hpp"

namespace po = boost::program_options;
using namespace pencil;

int main(int argc, char** argv) {
  // The whole machine keeps some twenty grids of slots by slots.
  constexpr std::int64_t most = 10'000, most_whole = 1000;
  nolan::Options chosen;
  po::options_description options("options");
  options.add_options()("pencil", po::bool_switch(&chosen.pencil),
                        "round after every step, as with a pencil")(
      "slots", po::value(&chosen.slots)->default_value(2)->value_name("N"),
      "words and padding rows together, 2 to 10000, with --whole to 1000")(
      "mask", po::bool_switch(&chosen.mask), "do not listen to padding")(
      "blame", po::bool_switch(&chosen.blame), "go backward from the sum of the new stick")(
      "whole", po::bool_switch(&chosen.whole),
      "go on to both rows, two teams, the verdict, its wrongness and all blame")(
      "tape", po::bool_switch(&chosen.tape), "print the tape too");
  return examples::run(argc, argv, "nolan",
                       "Attention for one word of \"nolan ended\", every number in sight.", options,
                       [&](const po::variables_map&) {
                         if (chosen.slots < 2 || chosen.slots > most)
                           throw examples::WrongUsage(fmt::format(
                               "--slots is {}; need 2 (the two words) to {}", chosen.slots, most));
                         if (chosen.whole && chosen.slots > most_whole)
                           throw examples::WrongUsage(fmt::format("--slots is {}; need 2 to {} with --whole",
                                                                  chosen.slots, most_whole));
                         return nolan::page(chosen);
                       });
}
