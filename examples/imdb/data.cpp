#include "examples/imdb/data.hpp"

#include <algorithm>

#include "examples/imdb/hold_out.hpp"
#include "examples/imdb/pile.hpp"
#include "examples/imdb/reader.hpp"

namespace pencil::imdb {
namespace {

struct Texts {
  std::vector<Review> study, exam, validation;
};

Texts read_texts(const TrainOptions& o, Console& console) {
  Texts texts;
  std::string told;
  if (!o.data) {
    Pile pile = built_in_pile();
    texts = {std::move(pile.study), std::move(pile.exam), {}};
    told = fmt::format("{}\n", pile_notice);
  } else {
    const ReadOptions options{.skip_bad = o.skip_bad};
    const std::uint64_t seed = o.model.classifier.seed;
    Piles piles = read_piles(*o.data, o.test, seed, options);
    told = oddities_of(piles.study) + oddities_of(piles.exam);
    if (piles.held_out)
      told +=
          fmt::format("A fifth of {} is held out for the exam, chosen by seed {}.\n", o.data->string(), seed);
    texts = {std::move(piles.study.reviews), std::move(piles.exam.reviews), {}};
    if (o.validation) {
      Reading reading = read_reviews(*o.validation, Part::test, options);
      told += oddities_of(reading);
      texts.validation = std::move(reading.reviews);
    }
  }
  if (o.validation_split) {
    HoldOut parts = hold_out(std::move(texts.study), *o.validation_split, o.model.classifier.seed);
    texts.study = std::move(parts.kept);
    texts.validation = std::move(parts.held_out);
  }
  if (!o.quiet) {
    console.say("{}Study pile: {}\nExam: {}\n", told, counts_of(texts.study), counts_of(texts.exam));
    if (!texts.validation.empty()) console.say("Validation: {}\n", counts_of(texts.validation));
  }
  return texts;
}

}  // namespace

std::string with_commas(std::int64_t n) {
  if (n < 1000) return fmt::format("{}", n);
  return fmt::format("{},{:03}", with_commas(n / 1000), n % 1000);
}

std::string counts_of(const std::vector<Review>& reviews) {
  const auto n = static_cast<std::int64_t>(reviews.size());
  const std::int64_t liked =
      std::count_if(reviews.begin(), reviews.end(), [](const Review& r) { return r.label == 1; });
  return fmt::format("{} review{} ({} liked, {} hated)", with_commas(n), n == 1 ? "" : "s",
                     with_commas(liked), with_commas(n - liked));
}

std::string oddities_of(const Reading& reading) {
  std::string text;
  if (reading.unlabelled > 0)
    text += fmt::format("Skipped {} files without labels (unsup).\n", with_commas(reading.unlabelled));
  if (reading.bad_rows > 0) {
    text += fmt::format("Left out bad rows: {}\n", with_commas(reading.bad_rows));
    for (const std::string& fault : reading.faults) text += fmt::format("  {}\n", fault);
    if (reading.bad_rows > static_cast<std::int64_t>(reading.faults.size())) text += "  …\n";
  }
  if (reading.broken_bytes > 0)
    text +=
        fmt::format("{} bytes of broken UTF-8 were taken as spaces.\n", with_commas(reading.broken_bytes));
  return text;
}

TrainingData read_training_data(const TrainOptions& o, Console& console) {
  Texts texts = read_texts(o, console);
  const nn::text::WordCounter counts = nn::text::count_words(
      static_cast<std::int64_t>(texts.study.size()),
      [&](std::int64_t i) -> std::string_view { return texts.study[static_cast<std::size_t>(i)].text; },
      o.model.tokenizer());
  TrainingData data;
  data.dictionary = nn::text::Dictionary(counts, o.model.classifier.vocabulary);
  data.study = encode(std::move(texts.study), data.dictionary, o.model);
  data.exam = encode(std::move(texts.exam), data.dictionary, o.model);
  if (!texts.validation.empty())
    data.validation = encode(std::move(texts.validation), data.dictionary, o.model);
  if (!o.quiet) {
    const nn::text::TokenRows& rows = data.study.rows;
    const double known =
        rows.words == 0 ? 0 : 1 - static_cast<double>(rows.unknown) / static_cast<double>(rows.words);
    console.say("Dictionary: the {} commonest of {} words; {:.1f} % of all words read are in it.\n\n",
                with_commas(data.dictionary.size() - 1), with_commas(counts.distinct()), 100 * known);
  }
  return data;
}

}  // namespace pencil::imdb
