#include "examples/imdb/progress.hpp"

#include <algorithm>

namespace pencil::imdb {

std::string progress_bar(const Standing& s, int columns) {
  const std::string head = fmt::format("Epoch {}/{} ", s.epoch, s.epochs);
  const double left = static_cast<double>((s.epochs - s.epoch + 1) * s.items - s.done) / s.speed;
  const std::string tail = fmt::format(" {:2} %  loss {:.4f}  accuracy {:.4f}  {:.0f}/s  {:.0f} s left",
                                       s.done * 100 / s.items, s.loss, s.accuracy, s.speed, left);
  constexpr int narrowest = 3, widest = 30;
  const int room = columns - static_cast<int>(head.size() + tail.size()) - 2;
  if (room < narrowest)
    return (head.substr(0, head.size() - 1) + tail).substr(0, static_cast<std::size_t>(std::max(columns, 0)));
  const int width = std::min(room, widest);
  const auto full = static_cast<std::size_t>(s.done * width / s.items);
  return head + "[" + std::string(full, '=') + std::string(static_cast<std::size_t>(width) - full, ' ') +
         "]" + tail;
}

Progress::Progress(Console& console, std::int64_t items, bool quiet)
    : console_(console), items_(items), on_(console.out_is_terminal && !quiet) {}

Progress::~Progress() { clear(); }

void Progress::step(const optim::StepProgress& step) {
  if (!on_) return;
  constexpr auto pause = std::chrono::milliseconds(100);
  const Clock::time_point now = Clock::now();
  if (step.step == 1) epoch_start_ = now;
  if (step.step == 1 || now - last_ < pause) return;
  last_ = now;
  const double seconds = std::chrono::duration<double>(now - epoch_start_).count();
  const Standing standing{.epoch = step.epoch,
                          .epochs = step.epochs,
                          .done = step.items_done,
                          .items = items_,
                          .loss = step.mean.loss,
                          .accuracy = step.mean.accuracy,
                          .speed = static_cast<double>(step.items_done) / seconds};
  console_.say("\r\x1b[K{}", progress_bar(standing, console_.columns - 1));
  shown_ = true;
}

void Progress::clear() {
  if (shown_) console_.say("\r\x1b[K");
  shown_ = false;
}

}  // namespace pencil::imdb
