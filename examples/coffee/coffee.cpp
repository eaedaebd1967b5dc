#include "examples/coffee/coffee.hpp"

#include <cmath>

#include "autograd/autograd.hpp"
#include "examples/coffee/notes.hpp"

namespace pencil::coffee {

namespace {

std::string rounded(const Tensor& x) { return to_string(x, {.decimals = 2}); }

std::string quoted(const std::vector<std::string>& words) {
  std::string text = "[";
  for (std::size_t i = 0; i < words.size(); ++i) text += fmt::format("{}'{}'", i > 0 ? ", " : "", words[i]);
  text += "]";
  return text;
}

// How often the note's words met in the notes.
Tensor met(const Meetings& meetings, const std::vector<std::int32_t>& at) {
  std::vector<std::int32_t> counts;
  for (const std::int32_t a : at)
    for (const std::int32_t b : at) counts.push_back(static_cast<std::int32_t>(meetings.times(a, b)));
  const auto n = static_cast<std::int64_t>(at.size());
  return tensor(counts, {n, n});
}

std::vector<std::int32_t> places(const Meetings& meetings, const std::vector<std::string>& words) {
  std::vector<std::int32_t> found;
  for (const std::string& word : words) {
    const std::int64_t place = meetings.place(word);
    if (place < 0) fail("[coffee] the word '{}' stands in none of the notes, so it has no point", word);
    found.push_back(static_cast<std::int32_t>(place));
  }
  if (found.empty()) fail("[coffee] the note to be looked at has no word of two letters or more");
  return found;
}

}  // namespace

std::string page(const Options& options) {
  std::vector<std::string> own;
  if (!options.notes.empty()) own = read_notes(options.notes);
  const std::vector<std::string_view> lines(own.begin(), own.end());
  const std::span<const std::string_view> notes = own.empty() ? sketchbook_notes() : std::span(lines);
  std::string_view note = options.note;
  if (note.empty()) note = own.empty() ? std::string_view("coffee study hours") : own.back();

  const Meetings meetings = count_meetings(notes);
  const auto n = static_cast<std::int64_t>(meetings.words.size());
  const std::vector<std::string> words = words_of(note);
  const std::vector<std::int32_t> at = places(meetings, words);
  const Tensor ids = named(tensor(at, {static_cast<std::int64_t>(at.size())}), "words");
  const Tensor table = parameter(tensor(plane_points(meetings.counts, n), {n, 2}), "table.weight");

  Tape tape;
  const Tensor points = [&] {
    const Role role("embedding");
    return embedding(table, ids);
  }();
  const Tensor bag = [&] {
    const Role role("collapse");
    return mean(points, 0);
  }();
  const Tensor dots = [&] {
    const Role role("scores");
    return matmul(points, points, {.transpose_right = true});
  }();
  const Tensor look = [&] {
    const Role role("scale");
    return dots / std::sqrt(2.0);
  }();
  const Tensor slices = [&] {
    const Role role("weights");
    return softmax(look);
  }();
  const Tensor mix = [&] {
    const Role role("mix");
    return matmul(slices, points);
  }();

  std::string text = fmt::format(
      "{} note{}, {} words\n"
      "tokens {}\n"
      "met in how many notes\n{}\n"
      "points\n{}\n"
      "bag mean {}\n"
      "look\n{}\n"
      "slices\n{}\n"
      "mix\n{}\n",
      notes.size(), notes.size() == 1 ? "" : "s", n, quoted(words), to_string(met(meetings, at)),
      rounded(points), rounded(bag), rounded(look), rounded(slices), rounded(mix));
  if (options.tape) {
    text += '\n';
    text += dump(tape, {.glossary = Glossary::sketchbook});
  }
  return text;
}

}  // namespace pencil::coffee
