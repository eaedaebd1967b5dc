// What the small programs share: options, exit codes, where errors go.
#pragma once

#include <fmt/core.h>

#include <boost/program_options.hpp>
#include <cstdio>
#include <exception>
#include <sstream>
#include <stdexcept>
#include <string>

namespace pencil::examples {

namespace po = boost::program_options;

/// Thrown for options that were read but make no sense.
class WrongUsage : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Reads the options, prints what `work(values)` returns and gives the exit code: 0, 1 for failed work, 2 for
/// wrong usage; -h and --help print `about` and the options. Options are not guessed from prefixes.
template <class Work>
int run(int argc, char** argv, const char* name, const char* about, po::options_description options,
        Work&& work) {
  options.add_options()("help,h", "print this and stop");
  const auto print = [&](const std::string& text) {
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    if (std::fflush(stdout) == 0 && written) return 0;
    fmt::print(stderr, "{}: the output could not be written\n", name);
    return 1;
  };
  try {
    po::variables_map values;
    const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
    po::store(po::command_line_parser(argc, argv)
                  .options(options)
                  .positional(po::positional_options_description())
                  .style(style)
                  .run(),
              values);
    po::notify(values);
    if (values.count("help") != 0) {
      std::ostringstream text;
      text << "usage: " << name << " [options]\n\n" << about << "\n\n" << options;
      return print(text.str());
    }
    return print(work(values));
  } catch (const po::error& error) {
    fmt::print(stderr, "{}: {} ({} --help lists the options)\n", name, error.what(), name);
    return 2;
  } catch (const WrongUsage& error) {
    fmt::print(stderr, "{}: {} ({} --help lists the options)\n", name, error.what(), name);
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", name, error.what());
    return 1;
  }
}

}  // namespace pencil::examples
