#include <filesystem>
#include <string>
#include <vector>

#include "autograd/error.hpp"
#include "examples/imdb/reader.hpp"
#include "examples/imdb/review_sink.hpp"
#include "tests/catch.hpp"
#include "tests/examples/folder_for_tests.hpp"

using namespace pencil::imdb;
using pencil::tests::TemporaryFolder;

namespace {

std::string shown(const Reading& reading) {
  std::string text;
  for (const Review& review : reading.reviews)
    text += "[" + review.text + "]=" + std::to_string(review.label) + " ";
  return text;
}

/// What a file of that name and text reads as.
std::string read(const std::string& name, std::string_view text, const ReadOptions& options = {}) {
  const TemporaryFolder folder;
  return shown(read_reviews(folder.write(name, text), Part::train, options));
}

const char* const needed = "need positive or negative, pos or neg, 1 or 0";

}  // namespace

TEST_CASE("CSV: review and sentiment, text and label, in any place and case") {
  CHECK(read("a.csv", "review,sentiment\ngood,positive\nbad,negative\n") == "[good]=1 [bad]=0 ");
  CHECK(read("a.csv", "id,label,Text\n7,NEG,bad\n8,pos,good\n") == "[bad]=0 [good]=1 ");
  CHECK(read("a.csv", " Review , SENTIMENT\ngood, 1 \nbad,0") == "[good]=1 [bad]=0 ");
  CHECK(read("a.CSV", "\"review\",\"sentiment\"\r\n\"good\",\"1\"\r\n") == "[good]=1 ");
  CHECK(read("a.csv", "text,review,label,sentiment\nt,r,0,1\n") == "[r]=1 ");
}

TEST_CASE("CSV: a byte-order mark, CRLF, quotes and a missing last line end change nothing") {
  CHECK(read("a.csv",
             "\xEF\xBB\xBFreview,sentiment\r\n\"a\nb\",positive\r\n\"x\n\",negative\r\n\"\"\"so\"\", they "
             "say\",1") == "[a\nb]=1 [x\n]=0 [\"so\", they say]=1 ");
  CHECK(read("a.csv", "review,sentiment\n\"a\r\nb\rc\",1\n") == "[a\nb\nc]=1 ");
}

TEST_CASE("an empty review is a review; a row without a label is a bad row") {
  CHECK(read("a.csv", "review,sentiment\n,positive\n\"\",0\n!!!,1\n") == "[]=1 []=0 [!!!]=1 ");
  CHECK(read("a.jsonl", "{\"text\":\"\",\"label\":0}") == "[]=0 ");
  CHECK_THROWS_WITH(read("a.csv", "review,sentiment\ngood,1\n\"\",\n"),
                    Says("a.csv, line 3: it has no label"));
  CHECK_THROWS_WITH(read("a.jsonl", "{\"text\":\"\",\"class\":null}"),
                    Says("a.jsonl, line 1: it has no label"));
  CHECK_THROWS_WITH(read("a.jsonl", "{\"text\":\"\",\"label\":null}"),
                    Says("a.jsonl, line 1: it has no label"));
}

TEST_CASE("a bad row names file, line and reason") {
  const auto csv = [](const std::string& rows) { return read("a.csv", "review,sentiment\n" + rows); };
  CHECK_THROWS_WITH(csv("\"a\nb\",1\nfine,meh\n"), Says("a.csv, line 4: label is \"meh\"; ") && Says(needed));
  CHECK_THROWS_WITH(csv("fine,2\n"), Says("line 2: label is \"2\"; "));
  CHECK_THROWS_WITH(csv("fine,1.0\n"), Says("label is \"1.0\"; "));
  CHECK_THROWS_WITH(csv("1,a whole review of more than forty letters\n"),
                    Says("label is \"a whole review of more than forty letter\u2026\"; "));
  CHECK_THROWS_WITH(csv("good\n"), Says("line 2: 1 field where the first line names 2 columns"));
  CHECK_THROWS_WITH(csv("so, so,1\n"), Says("line 2: 3 fields where the first line names 2 columns"));
  CHECK_THROWS_WITH(csv("\"good\" film,1\n"), Says("line 2: text follows the closing quote of field 1"));
  CHECK_THROWS_WITH(csv("good,meh\n"), Says("(--skip-bad leaves such rows out)"));
  CHECK_THROWS_AS(csv("good,meh\n"), pencil::Error);
}

TEST_CASE("bad rows are skipped and counted if asked") {
  const TemporaryFolder folder;
  const auto file = folder.write("a.csv", "review,sentiment\ngood,1\nbad\nbad,\n\"x\"y,1\nfine,0\n");
  const Reading reading = read_reviews(file, Part::train, {.skip_bad = true});
  CHECK(shown(reading) == "[good]=1 [fine]=0 ");
  CHECK(reading.bad_rows == 3);
  REQUIRE(reading.faults.size() == 3);
  CHECK(reading.faults[0] == file.string() + ", line 3: 1 field where the first line names 2 columns");
  CHECK(reading.faults[1] == file.string() + ", line 4: it has no label");
  CHECK(reading.faults[2] == file.string() + ", line 5: text follows the closing quote of field 1");
  CHECK(reading.liked() == 1);
  CHECK(read_reviews(folder.write("b.csv", "review,sentiment\ngood,1\n"), Part::train).bad_rows == 0);

  std::string many = "review,sentiment\ngood,1\n";
  for (int i = 0; i < 1000; ++i) many += "bad\n";
  const Reading most = read_reviews(folder.write("c.csv", many), Part::train, {.skip_bad = true});
  CHECK(most.bad_rows == 1000);
  CHECK(most.faults.size() == 10);
}

TEST_CASE("an unclosed quote is an error even where bad rows are skipped") {
  for (const bool skip : {false, true})
    CHECK_THROWS_WITH(read("a.csv", "review,sentiment\ngood,1\n\"bad,0\nfine,1\n", {.skip_bad = skip}),
                      Says("a.csv, line 3: the quote that opens field 1 is never closed"));
}

TEST_CASE("missing columns are named, and those that are there") {
  CHECK_THROWS_WITH(read("a.csv", "movie,sentiment\nx,1\n"),
                    Says("a.csv: no column is named review or text; line 1 names \"movie\", \"sentiment\""));
  CHECK_THROWS_WITH(read("a.csv", "\nreview,stars\nx,1\n"),
                    Says("no column is named sentiment or label; line 2 names \"review\", \"stars\""));
  CHECK_THROWS_WITH(read("a.csv", "review;sentiment\nx;1\n"), Says("line 1 names \"review;sentiment\""));
  CHECK_THROWS_WITH(read("a.csv", "review,label,Review\nx,1,y\n"),
                    Says("columns 1 and 3 are both named review"));
  CHECK_THROWS_WITH(read("a.csv", "\"review\"x,label\n"), Says("a.csv, line 1: text follows"));
  std::string wide = "c0";
  for (int i = 1; i < 5000; ++i) wide += ",c" + std::to_string(i);
  CHECK_THROWS_WITH(read("a.csv", wide), Says("\"c19\" and 4980 more"));
}

TEST_CASE("TSV is read as such") {
  CHECK(read("a.tsv", "id\tsentiment\treview\n\"5_8\"\t1\t\"So, \\\"good\\\"\"\n\"6_1\"\t0\tbad, bad\n") ==
        "[So, \"good\"]=1 [bad, bad]=0 ");
  CHECK(read("a.tab", "text\tlabel\ngood\tpos") == "[good]=1 ");
}

TEST_CASE("JSON Lines: objects with text and label, whatever else they hold") {
  CHECK(read("a.jsonl",
             "{\"review\": \"good\", \"sentiment\": \"positive\"}\n\n"
             "{\"label\": 0, \"id\": [1, {\"label\": 7}], \"text\": \"bad\"}\r\n"
             "{\"Text\": \"a\\nb \\u00e9 \\ud83d\\udd0d\", \"Label\": true}") ==
        "[good]=1 [bad]=0 [a\nb \u00e9 \U0001F50D]=1 ");
  CHECK(read("a.ndjson", "{\"text\":\"x\",\"label\":\"NEG\"}") == "[x]=0 ");
  CHECK(read("a.jsonl", "{\"review\":null,\"text\":\"t\",\"sentiment\":null,\"label\":1}") == "[t]=1 ");
}

TEST_CASE("JSON Lines: bad lines are told apart") {
  const auto json = [](const std::string& line) {
    return read("a.jsonl", "{\"text\":\"x\",\"label\":1}\n" + line);
  };
  CHECK_THROWS_WITH(json("{\"text\": tru}"), Says("a.jsonl, line 2: no JSON at column 13"));
  CHECK_THROWS_WITH(json("{\"text\":\"x\",\"label\":1} x"), Says("line 2: no JSON at column 24"));
  CHECK_THROWS_WITH(json("{\"text\":\"x\",\"label\":1"), Says("line 2: no JSON at column"));
  CHECK_THROWS_WITH(json("{\"text\":\"\\ud83d\",\"label\":1}"), Says("line 2: no JSON at column"));
  CHECK_THROWS_WITH(json("[1]"), Says("line 2: no JSON object; need one object a line"));
  CHECK_THROWS_WITH(json("\"text\""), Says("line 2: no JSON object"));
  CHECK_THROWS_WITH(json("{}"), Says("line 2: no key review or text"));
  CHECK_THROWS_WITH(json("{\"label\":1}"), Says("line 2: no key review or text"));
  CHECK_THROWS_WITH(json("{\"text\":null,\"label\":1}"), Says("line 2: the review is null"));
  CHECK_THROWS_WITH(json("{\"text\":7,\"label\":1}"), Says("line 2: the review is no string"));
  CHECK_THROWS_WITH(json("{\"text\":[\"x\"],\"label\":1}"), Says("line 2: the review is no string"));
  CHECK_THROWS_WITH(json("{\"text\":\"x\",\"label\":{}}"), Says("line 2: the label is no string or number"));
  CHECK_THROWS_WITH(json("{\"text\":\"x\",\"label\":0.5}"), Says("line 2: label is \"0.5\""));
  CHECK_THROWS_WITH(json("{\"text\":\"x\",\"label\":-1}"), Says("line 2: label is \"-1\""));
  CHECK_THROWS_WITH(json("{\"text\":\"x\",\"label\":1e999}"), Says("line 2: no JSON at column"));
  CHECK_THROWS_WITH(json("{\"text\":\"x\",\"text\":\"y\",\"label\":1}"),
                    Says("line 2: the key text stands twice"));
}

TEST_CASE("JSON Lines: nesting of any depth is passed over") {
  const std::string deep(1'000'000, '[');
  CHECK(read("a.jsonl", "{\"x\":" + deep + std::string(deep.size(), ']') + ",\"text\":\"x\",\"label\":1}") ==
        "[x]=1 ");
  CHECK_THROWS_WITH(read("a.jsonl", "{\"x\":" + deep), Says("line 1: no JSON at column"));
}

TEST_CASE("broken UTF-8 in a file is mended and counted, never fatal") {
  const TemporaryFolder folder;
  const auto count = [&](const char* name, std::string_view text) {
    const Reading reading = read_reviews(folder.write(name, text), Part::train);
    CHECK(shown(reading) == "[caf  \u00e9]=1 ");
    return reading.broken_bytes;
  };
  CHECK(count("a.csv", "review,label\ncaf\xE9 \u00e9,1\n") == 1);
  CHECK(count("a.jsonl", "{\"text\":\"caf\xE9 \u00e9\",\"label\":1}\n") == 1);
  CHECK(count("b.jsonl", "{\"text\":\"caf\xE2\x80\u00e9\",\"label\":1}\n") == 2);
}

TEST_CASE("a file without a telling name is known by its content") {
  CHECK(read("reviews.txt", "review,label\nx,1\n") == "[x]=1 ");
  CHECK(read("reviews", "\n review\tlabel, or so\tlabel\nx\ty\t1\n") == "[x]=1 ");
  CHECK(read("a.json", " {\"text\":\"x\",\"label\":1}\n") == "[x]=1 ");
  CHECK_THROWS_WITH(read("a.json", "[{\"text\":\"x\",\"label\":1}]"),
                    Says("a.json: a JSON array; need JSON Lines"));
  CHECK_THROWS_WITH(
      read("a.txt", "a lovely film\n"),
      Says("a.txt: neither CSV, TSV nor JSON Lines: no comma or tab in its first line \"a lovely film\""));
}

TEST_CASE("files without reviews, and files that are no text") {
  using namespace std::string_literals;
  CHECK_THROWS_WITH(read("a.csv", ""), Says("a.csv: the file is empty"));
  CHECK_THROWS_WITH(read("a.csv", "\xEF\xBB\xBF\r\n"), Says("a.csv: the file is empty"));
  CHECK_THROWS_WITH(read("a.csv", "review,label\n"), Says("a.csv: no reviews in it"));
  CHECK_THROWS_WITH(read("a.csv", "review,label\nx\ny\n", {.skip_bad = true}),
                    Says("a.csv: all 2 rows are bad; the first: ") && Says("line 2: 1 field"));
  CHECK_THROWS_WITH(read("a.csv", "\xFF\xFEr\0e\0"s), Says("a.csv: the text is UTF-16; need UTF-8"));
  CHECK_THROWS_WITH(read("a.csv", "PK\3\4\0\0,\t\n"s), Says("a.csv: no text file"));
  CHECK_THROWS_WITH(read_reviews("/no/such/file.csv", Part::train),
                    Says("[read] no such file or folder: /no/such/file.csv"));
  CHECK_THROWS_WITH(read_reviews("", Part::train), Says("no such file or folder"));
  CHECK_THROWS_WITH(read_file("/"), Says("[read] /: Is a directory"));
  CHECK_THROWS_WITH(read_reviews("/dev/zero", Part::train), Says("/dev/zero: a device, which may never end"));
  const TemporaryFolder folder;
  const auto file = folder.write("a.csv", "x");
  CHECK_THROWS_WITH(read_reviews(file / "b.csv", Part::train), Says("a.csv/b.csv"));
  std::filesystem::create_symlink("nowhere", folder.path() / "link.csv");
  CHECK_THROWS_WITH(read_reviews(folder.path() / "link.csv", Part::train), Says("link.csv"));
}

TEST_CASE("a file longer than one piece is read whole") {
  for (const std::size_t size : {65'535u, 65'536u, 65'537u, 400'000u}) {
    std::string text(size, 'x');
    for (std::size_t i = 0; i < size; i += 7) text[i] = static_cast<char>('a' + i % 26);
    const TemporaryFolder folder;
    CHECK(read_file(folder.write("a", text)) == text);
  }
}

TEST_CASE("a foreign text in a message is one short line of UTF-8") {
  CHECK(excerpt("a\nb\x80\x7f") == "\"a b  \"");
  CHECK(excerpt(std::string(40, 'x')) == '"' + std::string(40, 'x') + '"');
  for (const char* wide : {"\u00e9", "\u201c", "\U0001F50D"})
    for (std::size_t before = 34; before <= 41; ++before) {
      const std::string text = excerpt(std::string(before, 'x') + wide + std::string(40, 'y'));
      CAPTURE(text);
      std::string copy = text;
      CHECK(tidy(copy) == 0);
      CHECK(text.size() <= 40 + 2 + 3);
      CHECK(text.find(' ') == std::string::npos);
    }
}

TEST_CASE("tidy mends line ends in place") {
  std::string text = "a\r\nb\rc\r\r\n\nd\r";
  CHECK(tidy(text) == 0);
  CHECK(text == "a\nb\nc\n\n\nd\n");
}
