#include "optim/fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "optim/sgd.hpp"
#include "tests/catch.hpp"
#include "tests/optim/support.hpp"

using namespace pencil;
using namespace pencil::tests;
using namespace pencil::optim;
using Items = std::vector<std::int64_t>;

namespace {

/// Item i wants w to be i, all weights alike.
Tensor wish(const Tensor& w, Batch batch) {
  std::vector<double> targets;
  for (const std::int64_t item : batch)
    targets.insert(targets.end(), static_cast<std::size_t>(w.size()), static_cast<double>(item));
  return distance_to(w, with_shape(vector_of(targets), {static_cast<std::int64_t>(batch.size()), w.size()}));
}

}  // namespace

TEST_CASE("shuffled: a permutation that seed and epoch decide") {
  const Items order = shuffled(1000, 7, 1);
  Items sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (std::int64_t i = 0; i < 1000; ++i) CHECK(sorted[static_cast<std::size_t>(i)] == i);
  CHECK(order != sorted);
  CHECK(shuffled(1000, 7, 1) == order);
  CHECK(shuffled(1000, 7, 2) != order);
  CHECK(shuffled(1000, 8, 1) != order);
  CHECK(shuffled(1000, 8, 1) != shuffled(1000, 7, 2));
  CHECK(shuffled(0, 1, 1).empty());
  CHECK(shuffled(1, 1, 1) == Items{0});

  // All 24 orders of four items are about equally frequent.
  std::map<Items, int> counts;
  for (int epoch = 0; epoch < 24000; ++epoch) ++counts[shuffled(4, 3, epoch)];
  CHECK(counts.size() == 24);
  for (const auto& [each, count] : counts) CHECK(std::abs(count - 1000) < 150);  // nearly 5 deviations
}

TEST_CASE("fit: every item once an epoch, the last batch short, in the epoch's order") {
  const Tensor w = parameter_of({0});
  SGD sgd({w}, {.learning_rate = 0.1});
  std::vector<Items> batches;
  const FitResult result = fit(sgd, {.items = 10,
                                     .loss =
                                         [&](Batch batch) {
                                           batches.emplace_back(batch.begin(), batch.end());
                                           return wish(w, batch);
                                         },
                                     .epochs = 2,
                                     .batch_size = 4,
                                     .seed = 5});
  REQUIRE(batches.size() == 6);
  for (int epoch = 1; epoch <= 2; ++epoch) {
    Items seen;
    for (std::size_t i = 0; i < 3; ++i) {
      const Items& batch = batches[static_cast<std::size_t>(epoch - 1) * 3 + i];
      CHECK(batch.size() == (i == 2 ? 2 : 4));
      seen.insert(seen.end(), batch.begin(), batch.end());
    }
    CHECK(seen == shuffled(10, 5, epoch));
  }
  CHECK(result.steps == 6);
  CHECK(result.epochs.size() == 2);
  CHECK(result.best == 2);
  CHECK_FALSE(result.stopped);
  CHECK(sgd.steps() == 6);
  CHECK(w.item() > 1);
}

TEST_CASE("fit: losses and accuracies are means over items, not over batches") {
  const Tensor w = parameter_of({0});
  SGD sgd({w}, {.learning_rate = 0});
  std::vector<double> running;
  const FitResult result = fit(
      sgd, {.items = 5,
            .loss = [&](Batch batch) { return BatchLoss(wish(w, batch), batch.size() == 1 ? 1.0 : 0.25); },
            .on_step =
                [&](StepProgress& at) {
                  running.push_back(at.mean.loss);
                  CHECK(at.items_done == std::min<std::int64_t>(at.step * 2, 5));
                  CHECK(at.steps == 3);
                  CHECK(at.report.step == at.step);
                  CHECK(at.tape.backward_from() >= 0);
                },
            .batch_size = 2,
            .shuffle = false});
  // Items 0 … 4 lose i² / 2: batches 0.25, 3.25 and 8.
  CHECK(running == std::vector<double>{0.25, 1.75, 3});
  CHECK(result.epochs[0].train.loss == 3);
  CHECK(result.epochs[0].train.accuracy == Approx((4 * 0.25 + 1) / 5));
  CHECK_FALSE(result.epochs[0].validation.has_value());

  const FitResult plain = fit(sgd, {.items = 5, .loss = [&](Batch batch) { return wish(w, batch); }});
  CHECK(std::isnan(plain.epochs[0].train.accuracy));
}

TEST_CASE("fit: gradients from before do not enter the first step") {
  const Tensor w = parameter_of({0});
  give(w, {1000});
  SGD sgd({w}, {.learning_rate = 1});
  fit(sgd, {.items = 1, .loss = [&](Batch batch) { return wish(w, batch); }});
  CHECK(w.item() == 0);
}

TEST_CASE("fit: practice while training, exam for evaluations, callbacks and afterwards") {
  const Tensor w = parameter_of({0});
  SGD sgd({w});
  bool training = false;
  int evaluations = 0;
  const FitResult result = fit(sgd, {.items = 3,
                                     .loss =
                                         [&](Batch batch) {
                                           CHECK(training);
                                           return wish(w, batch);
                                         },
                                     .evaluate =
                                         [&] {
                                           CHECK_FALSE(training);
                                           CHECK(Tape::current() == nullptr);
                                           return Evaluation{.loss = 1.0 / ++evaluations, .accuracy = 0.5};
                                         },
                                     .mode = [&](bool on) { training = on; },
                                     .on_epoch =
                                         [&](EpochProgress& at) {
                                           CHECK_FALSE(training);
                                           CHECK(at.report.epoch == evaluations);
                                           CHECK(at.epochs == 3);
                                         },
                                     .epochs = 3});
  CHECK(evaluations == 3);
  CHECK_FALSE(training);
  CHECK(result.epochs[2].validation->loss == Approx(1.0 / 3));

  REQUIRE_THROWS_WITH(fit(sgd, {.items = 3,
                                .loss = [&](Batch) -> BatchLoss { throw Error("out of paper"); },
                                .mode = [&](bool on) { training = on; }}),
                      Says("out of paper"));
  CHECK_FALSE(training);
  CHECK(Tape::current() == nullptr);
}

TEST_CASE("fit: the best epoch by validation, its weights kept if asked") {
  const std::vector<Evaluation> verdicts{{0.9, 0.5}, {0.8, 0.7}, {0.5, 0.6},
                                         {0.7, 0.7}, {0.7, 0.7}, {0.1, 0.2}};
  for (const bool keep : {false, true}) {
    const Tensor w = parameter_of({0, 0});
    SGD sgd({w}, {.learning_rate = 0.25});
    std::vector<std::vector<double>> weights;
    const FitResult result = fit(sgd, {.items = 2,
                                       .loss = [&](Batch batch) { return wish(w, batch); },
                                       .evaluate =
                                           [&] {
                                             weights.push_back(w.to_vector());
                                             return verdicts.at(weights.size() - 1);
                                           },
                                       .epochs = 6,
                                       .keep_best = keep});
    CHECK(result.best == 4);
    std::vector<bool> best;
    for (const EpochReport& epoch : result.epochs) best.push_back(epoch.best);
    CHECK(best == std::vector<bool>{true, true, false, true, false, false});
    CHECK(w.to_vector() == weights[keep ? 3 : 5]);
    CHECK(weights[3] != weights[5]);
  }
}

TEST_CASE("better: accuracy first, then loss, and a loss that is no number never") {
  const double nan = NAN;
  CHECK(better({0.9, 0.8}, {0.1, 0.7}));
  CHECK_FALSE(better({0.1, 0.7}, {0.9, 0.8}));
  CHECK(better({0.1, 0.7}, {0.2, 0.7}));
  CHECK_FALSE(better({0.1, 0.7}, {0.1, 0.7}));
  CHECK(better({0.1, nan}, {0.2, nan}));
  CHECK_FALSE(better({0.2, nan}, {0.1, nan}));
  CHECK_FALSE(better({nan, 0.9}, {0.1, 0.1}));
  CHECK(better({0.1, 0.1}, {nan, 0.9}));
}

TEST_CASE("fit: a callback can end the training after a step or an epoch") {
  const Tensor w = parameter_of({0});
  SGD sgd({w}, {.learning_rate = 0.1});
  FitOptions options{.items = 6,
                     .loss = [&](Batch batch) { return wish(w, batch); },
                     .evaluate = [&] { return Evaluation{.loss = w.item()}; },
                     .epochs = 5,
                     .batch_size = 2,
                     .keep_best = true};
  SECTION("within an epoch, which then does not count") {
    double first_epoch = 0;
    options.on_epoch = [&](EpochProgress&) { first_epoch = w.item(); };
    options.on_step = [](StepProgress& at) { at.stop = at.epoch == 2 && at.step == 2; };
    const FitResult result = fit(sgd, options);
    CHECK(result.stopped);
    CHECK(result.steps == 5);
    CHECK(result.epochs.size() == 1);
    CHECK(result.best == 1);
    CHECK(w.item() == first_epoch);
  }
  SECTION("within the first epoch: weights stay as they are") {
    options.on_step = [](StepProgress& at) { at.stop = at.step == 1; };
    const FitResult result = fit(sgd, options);
    CHECK(result.stopped);
    CHECK(result.steps == 1);
    CHECK(result.epochs.empty());
    CHECK(result.best == 0);
    CHECK(w.item() > 0);
  }
  SECTION("at an epoch's last step, which completes it") {
    options.on_step = [](StepProgress& at) { at.stop = at.step == at.steps; };
    const FitResult result = fit(sgd, options);
    CHECK(result.stopped);
    CHECK(result.steps == 3);
    CHECK(result.epochs.size() == 1);
    CHECK(result.epochs[0].validation.has_value());
  }
  SECTION("after an epoch") {
    options.on_epoch = [](EpochProgress& at) { at.stop = at.report.epoch == 2; };
    const FitResult result = fit(sgd, options);
    CHECK(result.stopped);
    CHECK(result.epochs.size() == 2);
  }
}

TEST_CASE("fit: a loss or gradient that is not finite ends it, weights as after the last whole step") {
  const Tensor w = parameter_of({0, 0});
  SGD sgd({w}, {.learning_rate = 0.1});
  std::vector<double> last;
  FitOptions options{.items = 4,
                     .loss =
                         [&](Batch batch) {
                           last = w.to_vector();
                           return wish(w, batch);
                         },
                     .batch_size = 1};
  const auto loss = options.loss;
  int calls = 0;
  options.loss = [&](Batch batch) {
    if (++calls == 3) return BatchLoss(full({}, NAN, f64));
    return loss(batch);
  };
  REQUIRE_THROWS_WITH(fit(sgd, options), Says("[fit] the loss is nan in epoch 1, step 3"));
  CHECK(sgd.steps() == 2);

  static const Op broken{"broken",
                         {.forward = [](Inputs, const Attributes&) { return full({}, 1, f64); },
                          .rule =
                              [](const Step&, const Tensor&, Needs) {
                                return Gradients{vector_of({0, INFINITY})};
                              }}};
  const std::vector<double> before = w.to_vector();
  options.loss = [&](Batch) { return apply(broken, {w}); };
  REQUIRE_THROWS_WITH(fit(sgd, options), Says("[sgd] the gradient of 'w' is inf at position [1]"));
  CHECK(w.to_vector() == before);
}

TEST_CASE("fit: options that make no sense are named") {
  const Tensor w = parameter_of({0});
  SGD sgd({w});
  const FitOptions good{.items = 1, .loss = [&](Batch batch) { return wish(w, batch); }};
  const auto refused = [&](auto change, const std::string& reason) {
    FitOptions options = good;
    change(options);
    REQUIRE_THROWS_WITH(fit(sgd, options), Says(reason));
  };
  refused([](FitOptions& o) { o.loss = nullptr; }, "[fit] there is no loss to train on");
  refused([](FitOptions& o) { o.items = 0; }, "[fit] there are 0 items; need at least 1");
  refused([](FitOptions& o) { o.batch_size = 0; }, "[fit] the batch size is 0; need at least 1");
  refused([](FitOptions& o) { o.epochs = -1; }, "[fit] -1 epochs; need 0 or more");
  refused([](FitOptions& o) { o.keep_best = true; }, "[fit] keep_best needs evaluate");
  refused([](FitOptions& o) { o.loss = [](Batch) { return Tensor(); }; },
          "[fit] the loss of a batch has shape none");
  refused([](FitOptions& o) { o.loss = [](Batch) { return zeros({2}); }; },
          "the loss of a batch has shape (2)");
  FitOptions options = good;
  options.epochs = 0;
  CHECK(fit(sgd, options).epochs.empty());
}
