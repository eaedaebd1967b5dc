// The documents' classifier and its training step in libtorch, for comparison (PENCIL_BENCH_TORCH). Plain
// types only: libtorch's headers stay in torch.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace pencil::bench {

/// How many threads libtorch's ops may use, and how many its BLAS.
struct TorchThreads {
  int ops;
  int blas;
};

class TorchTwin {
 public:
  /// The parameters in our order, row-major; token numbers (batch, length); labels (batch), 0 or 1.
  TorchTwin(const std::vector<std::vector<float>>& weights, const std::vector<std::int64_t>& tokens,
            const std::vector<float>& labels, std::int64_t batch, std::int64_t length);
  ~TorchTwin();
  TorchTwin(TorchTwin&&) noexcept;

  static void set_threads(TorchThreads threads);
  /// Forward with dropout, backward, Adam.
  void step();
  /// The logits of the first reviews, without dropout and without a gradient.
  std::vector<float> judge(std::int64_t reviews);

 private:
  struct Model;
  std::unique_ptr<Model> model_;
};

}  // namespace pencil::bench
