#include "tests/inspect/browser.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <system_error>
#include <vector>

extern char** environ;

namespace pencil::tests {

using json = nlohmann::json;

namespace {

constexpr int patience = 60'000;  // milliseconds for an answer: a page takes one or two seconds to open

std::array<int, 2> make_pipe() {
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "a pipe");
  return ends;
}

// A new folder for what the browser writes.
std::filesystem::path new_folder() {
  std::string name = (std::filesystem::temp_directory_path() / "pencil_browser_XXXXXX").string();
  if (!mkdtemp(name.data())) throw std::system_error(errno, std::generic_category(), name);
  return name;
}

}  // namespace

Browser::Browser(const std::filesystem::path& program, const std::filesystem::path& page)
    : profile_(new_folder()) {
  std::signal(SIGPIPE, SIG_IGN);  // a browser that has ended is an error, not our end
  const auto commands = make_pipe(), answers = make_pipe();
  std::vector<std::string> texts{program.string(),
                                 "--headless",
                                 "--no-sandbox",
                                 "--disable-gpu",
                                 "--disable-dev-shm-usage",
                                 "--hide-scrollbars",
                                 "--window-size=1200,900",
                                 "--user-data-dir=" + profile_.string(),
                                 "--remote-debugging-pipe",
                                 "about:blank"};
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);

  // The browser reads its commands from stream 3 and answers on stream 4. The ends are moved up first, so
  // that neither stands in the other's place.
  const int in = fcntl(commands[0], F_DUPFD_CLOEXEC, 10), out = fcntl(answers[1], F_DUPFD_CLOEXEC, 10);
  posix_spawn_file_actions_t streams;
  posix_spawn_file_actions_init(&streams);
  posix_spawn_file_actions_adddup2(&streams, in, 3);
  posix_spawn_file_actions_adddup2(&streams, out, 4);
  posix_spawn_file_actions_addopen(&streams, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&streams, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&streams, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);  // its helpers end with it
  const int failed =
      posix_spawn(&process_, texts[0].c_str(), &streams, &attributes, pointers.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&streams);
  for (const int end : {in, out, commands[0], answers[1]}) close(end);
  to_ = commands[1];
  from_ = answers[0];
  if (failed != 0) throw std::system_error(failed, std::generic_category(), texts[0]);
  try {
    const json target = json::parse(ask("Target.createTarget", R"({"url": "about:blank"})"));
    const json parameters = {{"targetId", target.at("targetId")}, {"flatten", true}};
    session_ = json::parse(ask("Target.attachToTarget", parameters.dump())).at("sessionId");
    ask("Page.enable", "{}");
    ask("Page.navigate", json{{"url", "file://" + std::filesystem::absolute(page).string()}}.dump());
    while (json::parse(next_message()).value("method", "") != "Page.loadEventFired") continue;
  } catch (...) {
    end();
    throw;
  }
}

Browser::~Browser() { end(); }

void Browser::end() {
  close(to_);
  close(from_);
  kill(-process_, SIGKILL);
  waitpid(process_, nullptr, 0);
  std::error_code ignored;
  std::filesystem::remove_all(profile_, ignored);
}

void Browser::give_up(const std::string& why) const { throw std::runtime_error("the browser " + why); }

std::string Browser::ask(const std::string& method, const std::string& parameters) {
  json command{{"id", ++number_}, {"method", method}, {"params", json::parse(parameters)}};
  if (!session_.empty()) command["sessionId"] = session_;
  const std::string text = command.dump() + '\0';
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t n = write(to_, text.data() + sent, text.size() - sent);
    if (n < 0 && errno != EINTR) give_up("takes no more commands");
    if (n > 0) sent += static_cast<std::size_t>(n);
  }
  for (;;) {
    const json answer = json::parse(next_message());
    if (answer.value("id", 0) != number_) continue;
    if (answer.contains("error")) give_up("refused " + method + ": " + answer["error"].dump());
    return answer.at("result").dump();
  }
}

std::string Browser::next_message() {
  std::size_t end;
  while ((end = read_.find('\0')) == std::string::npos) {
    pollfd wait{.fd = from_, .events = POLLIN, .revents = 0};
    if (poll(&wait, 1, patience) == 0) give_up("did not answer for a minute");
    std::array<char, 65536> part;
    const ssize_t n = read(from_, part.data(), part.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) give_up("has ended");
    read_.append(part.data(), static_cast<std::size_t>(n));
  }
  std::string message = read_.substr(0, end);
  read_.erase(0, end + 1);
  return message;
}

std::string Browser::evaluate(const std::string& expression) {
  const json answer =
      json::parse(ask("Runtime.evaluate",
                      json{{"expression", "String(" + expression + ")"}, {"returnByValue", true}}.dump()));
  if (answer.contains("exceptionDetails")) give_up("could not run " + expression + ": " + answer.dump());
  return answer.at("result").value("value", "");
}

void Browser::click(const std::string& selector) {
  const std::string frame = evaluate("JSON.stringify(document.querySelector(" + json(selector).dump() +
                                     ").getBoundingClientRect())");
  const json box = json::parse(frame);
  json mouse{{"x", box.at("x").get<double>() + box.at("width").get<double>() / 2},
             {"y", box.at("y").get<double>() + box.at("height").get<double>() / 2},
             {"button", "left"},
             {"clickCount", 1}};
  for (const char* type : {"mousePressed", "mouseReleased"}) {
    mouse["type"] = type;
    ask("Input.dispatchMouseEvent", mouse.dump());
  }
}

void Browser::press(const std::string& key) {
  for (const char* type : {"rawKeyDown", "keyUp"})
    ask("Input.dispatchKeyEvent", json{{"type", type}, {"key", key}}.dump());
}

}  // namespace pencil::tests
