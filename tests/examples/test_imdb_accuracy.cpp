// What the program reaches on the real reviews (Maas et al., 2011) after one pass: the test part may be the
// whole one or a share of it. The environment variable PENCIL_IMDB names the folder; without it this is
// skipped.
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/catch.hpp"
#include "tests/examples/folder_for_tests.hpp"
#include "tests/examples/imdb_for_tests.hpp"

using namespace pencil;

namespace {

double accuracy_after_one_epoch(const std::string& data, const std::vector<std::string>& more) {
  const tests::TemporaryFolder folder;
  const auto metrics = folder.path() / "metrics.json";
  std::vector<std::string> words{"train", "--data",  data,        "--epochs",
                                 "1",     "--quiet", "--metrics", metrics.string()};
  words.insert(words.end(), more.begin(), more.end());
  REQUIRE(tests::run_imdb(words).status == 0);
  const auto j = nlohmann::json::parse(std::ifstream(metrics));
  return j["best"]["test_accuracy"].get<double>();
}

}  // namespace

TEST_CASE("the classifier's accuracy on the real reviews after one epoch") {
  const char* folder = std::getenv("PENCIL_IMDB");
  if (folder == nullptr) {
    WARN("[skipped] the environment variable PENCIL_IMDB names no aclImdb folder");
    return;
  }
  CHECK(accuracy_after_one_epoch(folder, {}) >= 0.81);
  CHECK(accuracy_after_one_epoch(folder, {"--keep", "last"}) >= 0.83);
  CHECK(accuracy_after_one_epoch(folder, {"--arch", "bag"}) >= 0.78);
}
