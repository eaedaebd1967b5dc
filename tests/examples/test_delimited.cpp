#include <string>
#include <vector>

#include "autograd/random.hpp"
#include "examples/imdb/delimited.hpp"
#include "tests/catch.hpp"

using namespace pencil::imdb;
using Fields = std::vector<std::string>;

namespace {

struct Row {
  Fields fields;
  std::int64_t line = 0;
  std::string fault;
  bool operator==(const Row&) const = default;
};

std::vector<Row> rows_of(std::string_view text, char delimiter) {
  DelimitedRows reader(text, delimiter, "file");
  std::vector<Row> rows;
  for (DelimitedRow row; reader.next(row);)
    rows.push_back({Fields(row.fields.begin(), row.fields.end()), row.line, row.fault});
  return rows;
}
std::vector<Row> csv(std::string_view text) { return rows_of(text, ','); }
std::vector<Row> tsv(std::string_view text) { return rows_of(text, '\t'); }
using Rows = std::vector<Row>;

}  // namespace

TEST_CASE("CSV: plain rows, with every kind of line end and with none at the end") {
  const Rows expected{{{"a", "b"}, 1, ""}, {{"c", "d"}, 2, ""}};
  CHECK(csv("a,b\nc,d\n") == expected);
  CHECK(csv("a,b\nc,d") == expected);
  CHECK(csv("a,b\r\nc,d\r\n") == expected);
  CHECK(csv("a,b\r\nc,d") == expected);
  CHECK(csv("a,b\rc,d\r") == expected);
  CHECK(csv("").empty());
  CHECK(csv("\n\r\n\r").empty());
}

TEST_CASE("CSV: quotes guard commas, line ends and doubled quotes") {
  CHECK(csv("\"a\nb\",positive") == Rows{{{"a\nb", "positive"}, 1, ""}});
  CHECK(csv("\"x\n\",negative\n") == Rows{{{"x\n", "negative"}, 1, ""}});
  CHECK(csv("\"a,b\",\"c\"") == Rows{{{"a,b", "c"}, 1, ""}});
  CHECK(csv("\"say \"\"yes\"\"\",\"\"\"\"") == Rows{{{"say \"yes\"", "\""}, 1, ""}});
  CHECK(csv("\"a\r\nb\"\r\n\"c\"\r\n") == Rows{{{"a\r\nb"}, 1, ""}, {{"c"}, 3, ""}});
  CHECK(csv("\"\",\"\"\n") == Rows{{{"", ""}, 1, ""}});
  CHECK(csv("a \"quoted\" word,6\" tall") == Rows{{{"a \"quoted\" word", "6\" tall"}, 1, ""}});
  CHECK(csv("\"back\\\",slash") == Rows{{{"back\\", "slash"}, 1, ""}});
}

TEST_CASE("CSV: empty fields are fields, empty lines are no rows") {
  CHECK(csv(",\n") == Rows{{{"", ""}, 1, ""}});
  CHECK(csv("a,") == Rows{{{"a", ""}, 1, ""}});
  CHECK(csv("a,,b") == Rows{{{"a", "", "b"}, 1, ""}});
  CHECK(csv("\n\na\n\n\nb\n\n") == Rows{{{"a"}, 3, ""}, {{"b"}, 6, ""}});
  CHECK(csv(" \n") == Rows{{{" "}, 1, ""}});
}

TEST_CASE("CSV: lines are counted through quoted line ends") {
  const Rows rows = csv("h,h\n\"1\n2\r\n3\r4\",x\r\ny,\"\n\"\nz,z");
  REQUIRE(rows.size() == 4);
  CHECK(rows[0].line == 1);
  CHECK(rows[1].line == 2);
  CHECK(rows[2].line == 6);
  CHECK(rows[3].line == 8);
}

TEST_CASE("CSV: text behind a closing quote spoils its row, not the next one") {
  const Rows rows = csv("a,b\n\"good\" film,1\n\"x\ny\"z,0\nc,d\n");
  REQUIRE(rows.size() == 4);
  CHECK(rows[1].line == 2);
  CHECK(rows[1].fault == "text follows the closing quote of field 1");
  CHECK(rows[2].line == 3);
  CHECK(rows[2].fault == "text follows the closing quote of field 1");
  CHECK(rows[3] == Row{{"c", "d"}, 5, ""});
}

TEST_CASE("an unclosed quote throws with the line it opens on") {
  for (const char delimiter : {',', '\t'}) {
    CHECK_THROWS_WITH(rows_of("\"", delimiter),
                      Says("[read] file, line 1: the quote that opens field 1 is never closed"));
    CHECK_THROWS_WITH(rows_of("a\nb\n\"c\nd\n", delimiter), Says("file, line 3: the quote"));
    CHECK_THROWS_WITH(rows_of("\"a\"\"", delimiter), Says("never closed"));
    CHECK_THROWS_WITH(rows_of(std::string("a\n\"b\nc\"") + delimiter + "\"d\ne", delimiter),
                      Says("file, line 3: the quote that opens field 2"));
  }
}

TEST_CASE("TSV: as in CSV where quotes enclose a field") {
  CHECK(tsv("a\tb\nc, \"d\"\te\n") == Rows{{{"a", "b"}, 1, ""}, {{"c, \"d\"", "e"}, 2, ""}});
  CHECK(tsv("\"a\tb\nc\"\t\"d\"\"e\"\nf\tg") == Rows{{{"a\tb\nc", "d\"e"}, 1, ""}, {{"f", "g"}, 3, ""}});
}

TEST_CASE("TSV: quotes escaped by a backslash, as in Kaggle's labeledTrainData.tsv") {
  CHECK(tsv("\"5814_8\"\t1\t\"With \\\"Moonwalker\\\" too.\"\n") ==
        Rows{{{"5814_8", "1", "With \"Moonwalker\" too."}, 1, ""}});
  CHECK(tsv("\"\\\"All\\\"\"\t\"ends \\\"here\\\"\"\nx") ==
        Rows{{{"\"All\"", "ends \"here\""}, 1, ""}, {{"x"}, 2, ""}});
  CHECK(tsv("\"a\\\"\tb\n") == Rows{{{"a\\", "b"}, 1, ""}});
}

TEST_CASE("TSV: a field that only begins with a quoted word is read word for word") {
  CHECK(tsv("\"Great\" film\t1\nx\t0\n") == Rows{{{"\"Great\" film", "1"}, 1, ""}, {{"x", "0"}, 2, ""}});
  CHECK(tsv("\"Great film\t1\nthey say \"so\"\t0\n") ==
        Rows{{{"\"Great film", "1"}, 1, ""}, {{"they say \"so\"", "0"}, 2, ""}});
}

TEST_CASE("CSV and TSV: random tables survive being written and read") {
  pencil::Rng rng{30};
  const std::string_view pieces[] = {"a", ",", "\t", "\"", "\n", "\r", "\r\n", " ", "\u00e9", "\x80", "''"};
  for (int round = 0; round < 2000; ++round) {
    for (const char delimiter : {',', '\t'}) {
      const std::string_view line_end = rng.below(2) == 0 ? "\n" : "\r\n";
      std::vector<Fields> table(1 + rng.below(4));
      std::string text;
      for (Fields& fields : table) {
        fields.resize(2 + rng.below(3));
        for (std::size_t i = 0; i < fields.size(); ++i) {
          for (std::uint64_t n = rng.below(6); n > 0; --n) fields[i] += pieces[rng.below(std::size(pieces))];
          if (i > 0) text += delimiter;
          text += '"';
          for (const char c : fields[i]) text += c == '"' ? "\"\"" : std::string(1, c);
          text += '"';
        }
        if (&fields != &table.back() || rng.below(2) == 0) text += line_end;
      }
      CAPTURE(round, text);
      const Rows rows = rows_of(text, delimiter);
      REQUIRE(rows.size() == table.size());
      for (std::size_t i = 0; i < rows.size(); ++i) REQUIRE(rows[i].fields == table[i]);
    }
  }
}

TEST_CASE("CSV and TSV: random bytes never break the reader") {
  pencil::Rng rng{31};
  const std::string_view alphabet = "a,\t\"\n\r\\\0\x80";
  for (int round = 0; round < 20'000; ++round) {
    std::string text(rng.below(30), ' ');
    for (char& c : text) c = alphabet[rng.below(alphabet.size())];
    for (const char delimiter : {',', '\t'}) {
      CAPTURE(round, text);
      try {
        std::int64_t line = 0;
        for (const Row& row : rows_of(text, delimiter)) {
          REQUIRE(row.line > line);
          line = row.line;
        }
      } catch (const std::exception& error) {
        REQUIRE_THAT(error.what(), Says("never closed"));
      }
    }
  }
}
