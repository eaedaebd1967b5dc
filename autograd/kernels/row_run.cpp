// Running a row program: in blocks of rows, instruction by instruction.

#include <algorithm>

#include "autograd/kernels/builtin.hpp"
#include "autograd/kernels/isa/row_arithmetic.hpp"
#include "autograd/kernels/reduce.hpp"
#include "autograd/kernels/row_program.hpp"
#include "autograd/kernels/scratch.hpp"
#include "autograd/kernels/threads.hpp"

namespace pencil::kernels {
namespace {

using Size = std::int64_t;

constexpr Size block_numbers = 1024;   // of an instruction's result, about: a few of them fit the first cache
constexpr Size piece_numbers = 16384;  // that a thread takes at a time, about

template <class T>
const RowArithmetic<T>& arithmetic() {
  static const RowArithmetic<T>& table =
      choose([]<Isa set>() -> const RowArithmetic<T>& { return row_arithmetic<T, set>(); });
  return table;
}

/// A program made ready to run: which kernel an instruction calls, and in which buffer its result stands.
template <class T>
class Plan {
 public:
  struct Action {
    RowStep step;
    typename RowArithmetic<T>::Kernel along = nullptr;      // a kernel that takes rows and numbers,
    typename ElementwiseTable<T>::Kernel kernel = nullptr;  // or one that takes numbers side by side
    bool same = true;                                       // for all rows: computed once, before the first
    bool used = false;  // a spread may not be: who reads it takes the number
    int buffer = -1;    // of its kind, rows or numbers; −1 for an input
  };

  Plan(const RowProgram& program, const Broadcast& walk) : last_use_(program.steps().size(), -1) {
    for (const RowStep& step : program.steps()) {
      Action action{step};
      choose_kernel(program, action);
      action.same = step.word != RowWord::argument && step.word != RowWord::upstream;
      for (int k = 0; k < step.operand_count(); ++k) {
        const std::size_t operand = place(action.step.operands[place(k)]);
        action.same = action.same && actions_[operand].same;
        actions_[operand].used = true;
        last_use_[operand] = static_cast<int>(actions_.size());
      }
      actions_.push_back(action);
    }
    actions_.back().used = true;
    choose_buffers(walk);
  }

  const std::vector<Action>& actions() const { return actions_; }
  /// How many buffers of a block of rows, and of one number for each of them.
  int row_buffers() const { return made_[1]; }
  int number_buffers() const { return made_[0]; }

 private:
  static std::size_t place(int i) { return static_cast<std::size_t>(i); }

  void choose_kernel(const RowProgram& program, Action& action) {
    RowStep& step = action.step;
    std::array<std::int32_t, 3> direct = step.operands;  // numbers where a number is spread
    unsigned numbers = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      std::int32_t& operand = step.operands[k];
      if (operand < 0) continue;
      while (actions_[place(operand)].step.word == RowWord::fixed)
        operand = actions_[place(operand)].step.operands[0];
      const RowStep& read = actions_[place(operand)].step;
      const bool number = read.word == RowWord::spread;
      direct[k] = number ? read.operands[0] : operand;
      numbers |= unsigned{number} << k;
    }
    if (!is_pointwise(step.word)) return;
    action.along = arithmetic<T>().kernel(step.word, numbers);
    if (action.along != nullptr)
      step.operands = direct;
    else if (step.word == RowWord::pow && program.constant(step.operands[1]) == 2)
      action.kernel = builtin<formulas::Square, T>().forward_kernel;
    else
      action.kernel = with_formula(step.word, []<class F>(F) { return builtin<F, T>().forward_kernel; });
  }

  void choose_buffers(const Broadcast& walk) {
    std::vector<int> free[2];
    for (std::size_t i = 0; i < actions_.size(); ++i) {
      Action& action = actions_[i];
      const RowStep& step = action.step;
      if (!action.used) continue;
      // A kernel may write over what it reads, so an operand's buffer is free for the result.
      for (auto read = step.operands.begin(); read != step.operands.begin() + step.operand_count(); ++read) {
        const Action& operand = actions_[place(*read)];
        const bool again = std::find(step.operands.begin(), read, *read) != read;
        const bool stays = operand.same || operand.step.word == RowWord::argument || operand.buffer < 0;
        if (!again && !stays && last_use_[place(*read)] == static_cast<int>(i))
          free[operand.step.row].push_back(operand.buffer);
      }
      const bool given = step.word == RowWord::upstream || step.word == RowWord::fixed ||
                         (step.word == RowWord::argument && whole(walk, static_cast<int>(step.value)));
      if (given) continue;
      std::vector<int>& left = free[step.row];
      if (action.same || step.word == RowWord::argument || left.empty()) {
        action.buffer = made_[step.row]++;
      } else {
        action.buffer = left.back();
        left.pop_back();
      }
    }
  }

  /// Whether an argument has the shape of all rows, and so is read where it stands.
  static bool whole(const Broadcast& walk, int argument) { return walk.period[argument] == walk.size; }

  std::vector<Action> actions_;
  std::vector<int> last_use_;
  int made_[2] = {0, 0};  // buffers of numbers, of rows
};

/// Some of the rows, on one thread.
template <class T>
class Worker {
 public:
  Worker(const Plan<T>& plan, Size width, Size most_rows, const RowInputs<T>& inputs)
      : plan_(plan),
        inputs_(inputs),
        width_(width),
        block_(std::min(most_rows, std::max<Size>(1, block_numbers / std::max<Size>(1, width)))),
        row_stride_(even(block_ * width)),
        number_stride_(even(block_)),
        scratch_(
            std::max<Size>(1, plan.row_buffers() * row_stride_ + plan.number_buffers() * number_stride_)),
        at_(plan.actions().size()) {}

  void run(Size begin, Size end, T* out) {
    for (std::size_t i = 0; i < at_.size(); ++i)
      if (plan_.actions()[i].same && plan_.actions()[i].used) act(i, block_, nullptr);
    const std::size_t last = at_.size() - 1;
    const Size each = plan_.actions()[last].step.row ? width_ : 1;
    for (Size row = begin; row < end; row += block_) {
      const Size rows = std::min(block_, end - row);
      T* result = out + row * each;
      for (std::size_t i = 0; i < at_.size(); ++i) {
        const auto& action = plan_.actions()[i];
        if (!action.used) continue;
        if (action.step.word == RowWord::argument || action.step.word == RowWord::upstream)
          fetch(i, row, rows, row == begin);
        else if (!action.same)
          act(i, rows, i == last ? result : nullptr);
      }
      if (at_[last] != result) std::copy_n(at_[last], rows * each, result);
    }
  }

 private:
  static Size even(Size numbers) { return (numbers + 15) / 16 * 16; }

  T* buffer(std::size_t i) const {
    const auto& action = plan_.actions()[i];
    if (action.step.row) return scratch_.data() + action.buffer * row_stride_;
    return scratch_.data() + plan_.row_buffers() * row_stride_ + action.buffer * number_stride_;
  }

  void fetch(std::size_t i, Size row, Size rows, bool first) {
    const RowStep& step = plan_.actions()[i].step;
    if (step.word == RowWord::upstream) {
      at_[i] = inputs_.dy + (step.row ? row * width_ : row);
      return;
    }
    const int k = static_cast<int>(step.value);
    if (plan_.actions()[i].buffer < 0) {
      at_[i] = inputs_.x[k] + row * width_;
      return;
    }
    at_[i] = buffer(i);
    const Size period = inputs_.walk.period[k];
    if (!first && period > 0 && block_ * width_ % period == 0) return;  // the same as before
    gather(inputs_.walk, k, inputs_.x[k], row * width_, rows * width_, buffer(i));
  }

  void act(std::size_t i, Size rows, T* result) {
    const auto& action = plan_.actions()[i];
    const RowStep& step = action.step;
    const T* const a = step.operands[0] < 0 ? nullptr : at_[static_cast<std::size_t>(step.operands[0])];
    if (step.word == RowWord::fixed) {
      at_[i] = a;
      return;
    }
    T* const y = result != nullptr ? result : buffer(i);
    at_[i] = y;
    if (action.kernel != nullptr || action.along != nullptr) {
      const T* in[3]{a, a, a};
      for (std::size_t k = 1; k < 3; ++k)
        if (step.operands[k] >= 0) in[k] = at_[static_cast<std::size_t>(step.operands[k])];
      const Size width = step.row ? width_ : 1;
      return action.along != nullptr ? action.along(rows, width, in, y)
                                     : action.kernel(nullptr, rows * width, in, y);
    }
    switch (step.word) {
      case RowWord::number:
        std::fill_n(y, rows, static_cast<T>(step.value));
        break;
      case RowWord::size:
        std::fill_n(y, rows, static_cast<T>(width_));
        break;
      case RowWord::spread:
        for (Size row = 0; row < rows; ++row) std::fill_n(y + row * width_, width_, a[row]);
        break;
      case RowWord::sum:
        reduce_sum(rows, width_, 1, a, y);
        break;
      case RowWord::mean:
        reduce_mean(rows, width_, 1, a, y);
        break;
      case RowWord::largest:
        reduce_max(rows, width_, 1, a, y);
        break;
      default:
        assert(step.word == RowWord::smallest);
        reduce_min(rows, width_, 1, a, y);
    }
  }

  const Plan<T>& plan_;
  const RowInputs<T>& inputs_;
  Size width_;
  Size block_;  // rows at a time
  Size row_stride_, number_stride_;
  Scratch<T> scratch_;
  std::vector<const T*> at_;  // where the result of an instruction stands
};

}  // namespace

template <class T>
void run(const RowProgram& program, Size rows, Size width, const RowInputs<T>& inputs, T* out) {
  const Plan<T> plan(program, inputs.walk);
  const Size grain = std::max<Size>(1, piece_numbers / std::max<Size>(1, width));
  parallel_for(rows, grain, [&](Size begin, Size end) {
    Worker<T>(plan, width, end - begin, inputs).run(begin, end, out);
  });
}

template void run(const RowProgram&, Size, Size, const RowInputs<float>&, float*);
template void run(const RowProgram&, Size, Size, const RowInputs<double>&, double*);

}  // namespace pencil::kernels
