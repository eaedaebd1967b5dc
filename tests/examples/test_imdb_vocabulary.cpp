// Check values of the real reviews (Maas et al., 2011). They are not part of the repository: the environment
// variable PENCIL_IMDB names the aclImdb folder, and without it these tests are skipped.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <type_traits>

#include "examples/imdb/reader.hpp"
#include "nn/text/text.hpp"
#include "tests/catch.hpp"

using namespace pencil;

namespace {

/// FNV-1a, 64 bits (Fowler, Noll, Vo), over the bytes of a text or over whole token numbers.
template <class List>
std::uint64_t fnv1a(const List& list) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const auto x : list)
    hash = (hash ^ static_cast<std::make_unsigned_t<std::decay_t<decltype(x)>>>(x)) * 0x100000001b3;
  return hash;
}

}  // namespace

TEST_CASE("the vocabulary of the 25,000 real reviews is Keras's") {
  const char* folder = std::getenv("PENCIL_IMDB");
  if (folder == nullptr) {
    WARN("[skipped] the environment variable PENCIL_IMDB names no aclImdb folder");
    return;
  }
  const imdb::Reading reading = imdb::read_reviews(folder, imdb::Part::train);
  REQUIRE(reading.reviews.size() == 25'000);
  CHECK(reading.liked() == 12'500);
  CHECK(reading.broken_bytes == 0);
  const auto text_at = [&](std::int64_t i) -> std::string_view {
    return reading.reviews[static_cast<std::size_t>(i)].text;
  };
  const nn::text::WordCounter counts = nn::text::count_words(25'000, text_at);
  CHECK(counts.distinct() == 88'584);
  CHECK(counts.total() == 5'942'841);

  const nn::text::Dictionary dictionary(counts, 10'000);
  CHECK(dictionary.size() == 10'000);
  CHECK(dictionary.word(1) == "the");
  CHECK(dictionary.word(9'999) == "aims");
  CHECK(counts.count("aims") == 31);
  std::string joined;
  for (const std::string& word : dictionary.words()) joined += (joined.empty() ? "" : "\n") + word;
  CHECK(fnv1a(joined) == 0x7475faad92c7a64d);  // of the text whose SHA-256 begins 92f849417450386d

  // The hashes of the rows are from a few lines of Python that follow Keras's rules.
  const nn::text::TokenRows first = nn::text::token_rows(dictionary, 25'000, text_at, 100);
  CHECK(first.words == counts.total());
  CHECK(fnv1a(first.numbers) == 0x9e9b745d320b9019);
  const nn::text::TokenRows last =
      nn::text::token_rows(dictionary, 25'000, text_at, 100, nn::text::keep_last);
  CHECK(fnv1a(last.numbers) == 0x02f35ce7d52242fd);
}
