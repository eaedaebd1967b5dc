// Checks README.md and docs/*.md: that their snippets compile and run, and print what stands below them. For
// each page one program is made of its C++ blocks (see CMakeLists.txt); its ctest is called "docs: PAGE".
//
// What a fenced block is follows from the words behind its three backticks:
//
//   cpp         statements; they may use what `cpp file` blocks above declare
//   cpp more    the same, in the scope of the block before; all others begin a scope of their own
//   cpp file    declarations at namespace scope
//   cpp throws  statements that end in a pencil::Error, whose text is printed; their scope ends there
//   text        next after one of C++: what that block printed, byte for byte
//   console     "$ command" lines, each with what it prints on both streams; "> " continues a command.
//               They are run by sh, with the programs of examples/ at hand.
//   others      sh, json, cmake, python …: not checked
//
// A line that is nothing but … stands for lines left out. Lines with #include or `using namespace` go to the
// top of the page's program, so a page need show them only once. Source lines in printed tapes are those of
// the page. Program and commands run in a folder of the page's own, where one finds what another left.
// Links to other files of the repository must lead somewhere.
//
//   check extract PAGE PROGRAM.cpp     writes the program
//   check compare PAGE PROGRAM FOLDER  runs it and the commands, prints differences, and fails if any
//   check update PAGE PROGRAM FOLDER   puts what came into the page, where the page has no … in it

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Lines = std::vector<std::string>;

constexpr char mark = '\x1e';  // in what a program prints: a block's number follows

Lines split(const std::string& text) {
  Lines lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
}

struct Block {
  std::size_t first, last;  // its lines in the page, without the fences, counted from 0; last is one behind
  std::string kind;
  std::set<std::string> flags;
};

struct Page {
  explicit Page(const std::filesystem::path& path)
      : name(path.filename().string()), lines(split(contents(path))) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (!lines[i].starts_with("```")) continue;
      std::istringstream words(lines[i].substr(3));
      Block block{.first = i + 1, .last = i + 1, .kind = {}, .flags = {}};
      words >> block.kind;
      for (std::string flag; words >> flag;) block.flags.insert(flag);
      for (const std::string& flag : block.flags)
        if (block.kind == "cpp" && flag != "more" && flag != "file" && flag != "throws")
          throw std::runtime_error(at(i) + "there is no such block: " + lines[i]);
      while (block.last < lines.size() && lines[block.last] != "```") ++block.last;
      if (block.last == lines.size()) throw std::runtime_error(at(i) + "this block never ends");
      i = block.last;
      blocks.push_back(block);
    }
  }

  std::string at(std::size_t line) const { return name + ":" + std::to_string(line + 1) + ": "; }
  Lines text(const Block& block) const {
    return {lines.begin() + static_cast<std::ptrdiff_t>(block.first),
            lines.begin() + static_cast<std::ptrdiff_t>(block.last)};
  }

  std::string name;
  Lines lines;
  std::vector<Block> blocks;
};

std::string program_of(const Page& page) {
  std::string top, body, calls;
  bool open = false;
  const auto close = [&] {
    if (open) body += "}\n";
    open = false;
  };
  for (const Block& block : page.blocks) {
    if (block.kind != "cpp") continue;
    const std::string number = std::to_string(block.first);
    const std::string line = "#line " + std::to_string(block.first + 1) + " \"" + page.name + "\"\n";
    const bool at_top = block.flags.contains("file"), throws = block.flags.contains("throws");
    std::string code;
    for (const std::string& text : page.text(block)) {
      const bool hoisted = text.starts_with("#include") || text.starts_with("using namespace ");
      if (hoisted) top += text + "\n";
      code += (hoisted ? "" : text) + "\n";
    }
    if (at_top) {
      close();
      body += line + code;
      continue;
    }
    if (!block.flags.contains("more")) {
      close();
      body += "static void block_" + number + "() {\n";
      calls += "  block_" + number + "();\n";
    } else if (!open) {
      throw std::runtime_error(page.at(block.first - 1) + "there is no scope to go on in");
    }
    open = true;
    body += "begin_block(" + number + ");\n";
    if (throws) body += "try {\n";
    body += line + code;
    if (throws) {
      body +=
          "fmt::print(\"nothing was thrown\\n\");\n} catch (const pencil::Error& error) { report(error); }\n";
      close();
    }
  }
  close();
  return "// Made from " + page.name + " by tests/docs/check.cpp.\n" + top +
         "#include <fmt/format.h>\n\n#include \"autograd/error.hpp\"\n\n"
         "[[maybe_unused]] static void begin_block(int number) { fmt::print(\"\\x1e{}\\n\", number); }\n"
         "[[maybe_unused]] static void report(const pencil::Error& error) { fmt::print(\"{}\\n\", "
         "error.what()); }\n\n" +
         body + "#line 1 \"main\"\nint main() {\n" + calls + "}\n";
}

/// What a shell command prints on both streams, cut at the marks.
std::map<std::size_t, std::string> run(const std::string& command, std::string& failure) {
  std::fflush(nullptr);
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (!pipe) throw std::runtime_error("cannot run " + command);
  std::string all;
  char buffer[4096];
  for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) all.append(buffer, n);
  const int status = pclose(pipe);
  std::map<std::size_t, std::string> parts;
  std::string_view rest = all;
  if (status != 0) failure = "it ended with status " + std::to_string(status) + " and said:\n" + all;
  while (!rest.empty() && rest[0] == mark) {
    const std::size_t end = rest.find('\n'), next = std::min(rest.find(mark, 1), rest.size());
    std::string text(rest.substr(end + 1, next - end - 1));
    if (!text.empty() && text.back() != '\n') text += '\n';
    parts[std::stoul(std::string(rest.substr(1, end - 1)))] += text;
    rest.remove_prefix(next);
  }
  if (!rest.empty()) failure += "what it printed first belongs to no block:\n" + std::string(rest);
  return parts;
}

/// Whether lines are as expected, where … stands for any number of them.
bool matches(const Lines& expected, const Lines& found) {
  std::size_t e = 0, f = 0, star = expected.size(), resume = 0;
  while (f < found.size()) {
    if (e < expected.size() && expected[e] == "…") {
      star = e++;
      resume = f;
    } else if (e < expected.size() && expected[e] == found[f]) {
      ++e, ++f;
    } else if (star < expected.size()) {
      e = star + 1;
      f = ++resume;
    } else {
      return false;
    }
  }
  while (e < expected.size() && expected[e] == "…") ++e;
  return e == expected.size();
}

/// A stretch of the page that says what was printed, and what was.
struct Claim {
  std::size_t first, last;  // lines of the page
  std::string found;
};

class Checker {
 public:
  Checker(const std::filesystem::path& page, const std::string& program, const std::filesystem::path& folder)
      : path_(page), page_(page) {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    follow_links();
    run_program(program, folder);
    run_commands(folder);
  }

  int compare() const {
    int faults = fault_.empty() ? 0 : 1;
    std::cout << fault_;
    for (const Claim& claim : claims_) {
      const Lines expected(page_.lines.begin() + static_cast<std::ptrdiff_t>(claim.first),
                           page_.lines.begin() + static_cast<std::ptrdiff_t>(claim.last));
      const Lines found = split(claim.found);
      if (matches(expected, found)) continue;
      ++faults;
      std::size_t i = 0;
      while (i < expected.size() && i < found.size() && expected[i] == found[i]) ++i;
      std::cout << page_.at(claim.first + i) << "the page says\n  "
                << (i < expected.size() ? expected[i] : "(nothing more)") << "\nand what was printed is\n  "
                << (i < found.size() ? found[i] : "(nothing more)") << "\n--- all that was printed:\n"
                << claim.found << "---\n";
    }
    return faults == 0 ? 0 : 1;
  }

  int update() {
    for (auto claim = claims_.rbegin(); claim != claims_.rend(); ++claim) {
      const auto first = page_.lines.begin() + static_cast<std::ptrdiff_t>(claim->first);
      const auto last = page_.lines.begin() + static_cast<std::ptrdiff_t>(claim->last);
      if (std::find(first, last, "…") != last) continue;
      const Lines found = split(claim->found);
      page_.lines.insert(page_.lines.erase(first, last), found.begin(), found.end());
    }
    std::string text;
    for (const std::string& line : page_.lines) text += line + "\n";
    write(path_, text);
    std::cout << fault_;
    return fault_.empty() ? 0 : 1;
  }

 private:
  void follow_links() {
    std::size_t block = 0;
    for (std::size_t i = 0; i < page_.lines.size(); ++i) {
      while (block < page_.blocks.size() && i >= page_.blocks[block].last) ++block;
      if (block < page_.blocks.size() && i >= page_.blocks[block].first) continue;
      const std::string& line = page_.lines[i];
      for (std::size_t at = line.find("]("); at != std::string::npos; at = line.find("](", at + 1)) {
        const std::string target = line.substr(at + 2, line.find_first_of("#)", at) - at - 2);
        if (target.empty() || target.find("://") != std::string::npos) continue;
        if (!std::filesystem::exists(path_.parent_path() / target))
          fault_ += page_.at(i) + "there is no " + target + "\n";
      }
    }
  }

  void run_program(const std::string& program, const std::filesystem::path& folder) {
    std::string failure;
    std::map<std::size_t, std::string> printed =
        run("cd '" + folder.string() + "' && '" + program + "' </dev/null", failure);
    if (!failure.empty()) fault_ += page_.name + ": its program failed: " + failure + "\n";
    for (std::size_t i = 0; i < page_.blocks.size(); ++i) {
      const Block& block = page_.blocks[i];
      if (block.kind != "cpp" || block.flags.contains("file")) continue;
      const bool told = i + 1 < page_.blocks.size() && page_.blocks[i + 1].kind == "text";
      if (told)
        claims_.push_back({page_.blocks[i + 1].first, page_.blocks[i + 1].last, printed[block.first]});
      else if (!printed[block.first].empty())
        fault_ += page_.at(block.first - 1) + "no block says what this one prints:\n" + printed[block.first];
    }
  }

  void run_commands(const std::filesystem::path& folder) {
    std::string script = "cd '" + folder.string() + "' || exit 1\n";
    std::vector<Claim> commands;
    for (const Block& block : page_.blocks) {
      if (block.kind != "console") continue;
      for (std::size_t i = block.first; i < block.last; ++i) {
        if (page_.lines[i].starts_with("$ ")) {
          script +=
              "printf '\\036" + std::to_string(commands.size()) + "\\n'\n" + page_.lines[i].substr(2) + "\n";
          while (i + 1 < block.last && page_.lines[i + 1].starts_with("> "))
            script += page_.lines[++i].substr(2) + "\n";
          commands.push_back({i + 1, i + 1, ""});
        } else if (i == block.first) {
          throw std::runtime_error(page_.at(i) + "a block of commands begins with \"$ \"");
        } else {
          commands.back().last = i + 1;
        }
      }
    }
    if (commands.empty()) return;
    const std::filesystem::path file = std::filesystem::path(folder).replace_extension(".sh");
    write(file, script + "exit 0\n");
    std::string failure;
    const auto printed = run("sh '" + file.string() + "' </dev/null", failure);
    if (!failure.empty()) fault_ += page_.name + ": its commands failed: " + failure + "\n";
    for (const auto& [i, text] : printed) commands[i].found = text;
    claims_.insert(claims_.end(), commands.begin(), commands.end());
    std::sort(claims_.begin(), claims_.end(),
              [](const Claim& a, const Claim& b) { return a.first < b.first; });
  }

  std::filesystem::path path_;
  Page page_;
  std::vector<Claim> claims_;
  std::string fault_;
};

int work(const std::vector<std::string>& words) {
  if (words.size() == 4 && words[1] == "extract") {
    write(words[3], program_of(Page(words[2])));
    return 0;
  }
  if (words.size() == 5 && words[1] == "compare") return Checker(words[2], words[3], words[4]).compare();
  if (words.size() == 5 && words[1] == "update") return Checker(words[2], words[3], words[4]).update();
  std::cerr << "see the top of tests/docs/check.cpp\n";
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return work({argv, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
}
