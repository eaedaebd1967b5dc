#include "examples/coffee/notes.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <set>

#include "autograd/error.hpp"

namespace pencil::coffee {

std::span<const std::string_view> sketchbook_notes() {
  static constexpr std::array<std::string_view, 27> notes{
      "study hours textbook",      "hours study tutor exam", "textbook hours cram",    "tutor study hours",
      "cram textbook study night", "hours textbook tutor",   "study cram hours exam",  "tutor textbook hours",
      "exam study textbook",       "night cram hours",       "sleep rest tired",       "rest sleep bed",
      "tired sleep rest night",    "bed rest sleep",         "sleep tired bed",        "rest bed tired",
      "sleep night rest",          "coffee phone scroll",    "phone coffee noise",     "noise hallway coffee",
      "coffee noise hallway",      "phone scroll coffee",    "scroll phone instagram", "study sleep hours",
      "coffee study hours",        "tutor sleep rest",       "night exam coffee"};
  return notes;
}

std::vector<std::string> words_of(std::string_view note) {
  std::vector<std::string> words;
  std::string word;
  const auto end_word = [&] {
    if (word.size() >= 2) words.push_back(word);
    word.clear();
  };
  for (const char c : note) {
    const bool upper = c >= 'A' && c <= 'Z';
    const bool inside =
        upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || (c & 0x80) != 0;
    if (inside)
      word += upper ? static_cast<char>(c | 0x20) : c;
    else
      end_word();
  }
  end_word();
  return words;
}

std::vector<std::string> read_notes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail("[notes] {}: {}", path, std::strerror(errno));
  std::vector<std::string> notes;
  for (std::string line; std::getline(file, line);)
    if (!words_of(line).empty()) notes.push_back(line);
  if (file.bad()) fail("[notes] {}: {}", path, std::strerror(errno));
  if (notes.empty())
    fail("[notes] {}: no words in it; need a note a line, words of at least two letters", path);
  return notes;
}

std::int64_t Meetings::place(std::string_view word) const {
  const auto found = std::ranges::lower_bound(words, word);
  return found != words.end() && *found == word ? found - words.begin() : -1;
}

Meetings count_meetings(std::span<const std::string_view> notes) {
  constexpr std::size_t most = 2000;  // the decomposition takes n³ steps
  std::vector<std::vector<std::string>> split;
  std::set<std::string> distinct;
  for (const std::string_view note : notes) {
    split.push_back(words_of(note));
    distinct.insert(split.back().begin(), split.back().end());
  }
  if (distinct.size() < 2)
    fail("[notes] a plane needs at least two different words; these notes have {}", distinct.size());
  if (distinct.size() > most)
    fail("[notes] {} different words; the points of more than {} would take too long", distinct.size(), most);
  Meetings found;
  found.words.assign(distinct.begin(), distinct.end());
  const std::size_t n = found.words.size();
  found.counts.assign(n * n, 0);
  for (const auto& words : split) {
    std::map<std::size_t, double> times;
    for (const std::string& word : words) ++times[static_cast<std::size_t>(found.place(word))];
    for (const auto& [a, times_a] : times)
      for (const auto& [b, times_b] : times)
        if (a != b) found.counts[a * n + b] += times_a * times_b;
  }
  return found;
}

}  // namespace pencil::coffee
