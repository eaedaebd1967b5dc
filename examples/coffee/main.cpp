#include "examples/coffee/coffee.hpp"
#include "examples/common/command_line.hpp"

namespace po = boost::program_options;
using namespace pencil;

int main(int argc, char** argv) {
  coffee::Options chosen;
  po::options_description options("options");
  options.add_options()("notes", po::value(&chosen.notes)->value_name("FILE"),
                        "notes of your own, one a line, in place of the sketchbook's 27")(
      "note", po::value(&chosen.note)->value_name("TEXT"),
      "the note whose words look at each other: \"coffee study hours\", or the file's last")(
      "tape", po::bool_switch(&chosen.tape), "print the tape too");
  return examples::run(argc, argv, "coffee", "A bag and attention, side by side, on the words of one note.",
                       options, [&](const po::variables_map& values) {
                         if (values.count("notes") != 0 && chosen.notes.empty())
                           throw examples::WrongUsage("--notes needs a file's name");
                         if (values.count("note") != 0 && chosen.note.empty())
                           throw examples::WrongUsage("--note needs the words of a note");
                         return coffee::page(chosen);
                       });
}
