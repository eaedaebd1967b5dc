// A headless Chromium with one page open, driven as its own tools drive it (the DevTools protocol over two
// pipes): clicks and keys arrive as a person's would.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

namespace pencil::tests {

class Browser {
 public:
  /// Starts `program` and opens the file. Throws std::runtime_error where the browser ends or does not
  /// answer.
  Browser(const std::filesystem::path& program, const std::filesystem::path& page);
  ~Browser();
  Browser(const Browser&) = delete;
  Browser& operator=(const Browser&) = delete;

  /// What an expression of the page's script comes to, as a text. Throws std::runtime_error where it throws.
  std::string evaluate(const std::string& expression);
  /// Presses and releases the mouse at the centre of the element that a selector finds.
  void click(const std::string& selector);
  /// Presses and releases a key: "Enter", "ArrowUp".
  void press(const std::string& key);

 private:
  // Sends a command and waits for its answer (both JSON; the answer's "result").
  std::string ask(const std::string& method, const std::string& parameters);
  std::string next_message();
  [[noreturn]] void give_up(const std::string& why) const;
  void end();

  pid_t process_ = 0;
  int to_ = -1, from_ = -1;
  int number_ = 0;  // of the last command
  std::string session_, read_;
  std::filesystem::path profile_;
};

}  // namespace pencil::tests
