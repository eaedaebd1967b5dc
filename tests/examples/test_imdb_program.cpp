// The program as a user runs it: a process, its exit status and both streams.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "tests/catch.hpp"
#include "tests/examples/folder_for_tests.hpp"
#include "tests/examples/imdb_for_tests.hpp"
#include "tests/paths.hpp"

using namespace pencil;
using tests::ImdbProcess;
using tests::Ran;

namespace {

Ran run_process(const std::vector<std::string>& words, const std::string& input = "") {
  return ImdbProcess(words, input).finish();
}

}  // namespace

TEST_CASE("imdb as a process: train, evaluate, predict, explain") {
  const tests::TemporaryFolder folder;
  const std::string data = folder.write("reviews.csv", tests::small_csv()).string();
  const std::string model = (folder.path() / "model").string();
  const Ran trained =
      run_process({"train", "--data", data, "--preset", "pencil", "--epochs", "2", "--save", model});
  CHECK(trained.status == 0);
  CHECK(trained.err.empty());
  CHECK_THAT(trained.out, Says("Epoch 2/2: train loss "));
  CHECK_THAT(trained.out, Says("Saved to " + model));

  const Ran predicted = run_process({"predict", "--model", model, "--json"}, "a good film\na dull film\n");
  CHECK(predicted.status == 0);
  CHECK(predicted.err.empty());
  CHECK(std::count(predicted.out.begin(), predicted.out.end(), '\n') == 2);
  CHECK(run_process({"evaluate", "--model", model, "--data", data}).status == 0);
  CHECK_THAT(run_process({"explain", "--model", model, "a good film"}).out, Says("NEW STICK"));
  CHECK_THAT(run_process({"glossary"}).out, Says("WANT"));
}

TEST_CASE("imdb as a process: wrong usage is status 2, failed work status 1, both on standard error alone") {
  const Ran usage = run_process({"train", "--epochs", "many"});
  CHECK(usage.status == 2);
  CHECK(usage.out.empty());
  CHECK_THAT(usage.err, Says("--epochs is \"many\""));
  const Ran failed = run_process({"train", "--data", "/no/such/place"});
  CHECK(failed.status == 1);
  CHECK(failed.out.empty());
  CHECK_THAT(failed.err, Says("no such file or folder"));
  CHECK(run_process({"--help"}).status == 0);
}

TEST_CASE("imdb as a process: no text on a terminal is wrong usage") {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  REQUIRE(terminal >= 0);
  REQUIRE((grantpt(terminal) == 0 && unlockpt(terminal) == 0));
  const int other_end = open(ptsname(terminal), O_RDWR | O_NOCTTY);
  REQUIRE(other_end >= 0);
  const Ran ran = ImdbProcess({"predict", "--model", "none"}, other_end).finish();
  CHECK(ran.status == 2);
  CHECK_THAT(ran.err, Says("standard input is a terminal"));
  close(other_end);
  close(terminal);
}

TEST_CASE("imdb as a process: Ctrl-C ends training after the step, saves, and is status 130") {
  const tests::TemporaryFolder folder;
  const std::string data = folder.write("reviews.csv", tests::small_csv()).string();
  const std::string model = (folder.path() / "model").string();
  ImdbProcess process(
      {"train", "--data", data, "--preset", "pencil", "--epochs", "1000000", "--save", model});
  REQUIRE(process.wait_for("Epoch 1/1000000"));
  process.interrupt();
  const Ran ran = process.finish();
  CHECK(ran.status == 130);
  CHECK_THAT(ran.err, Says("interrupted, ended after step "));
  CHECK_THAT(ran.err, Says("the model is saved"));
  CHECK(run_process({"predict", "--model", model, "good"}).status == 0);
}

TEST_CASE("imdb as a process: output that cannot be written is failed work") {
  if (access("/dev/full", W_OK) != 0) return;
  const int status =
      std::system((tests::program("imdb").string() + " glossary >/dev/full 2>/dev/null").c_str());  // NOLINT
  CHECK(WEXITSTATUS(status) == 1);
}
