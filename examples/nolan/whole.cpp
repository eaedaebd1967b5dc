#include "examples/nolan/whole.hpp"

#include "examples/nolan/pencil.hpp"

namespace pencil::nolan {

namespace {

Tensor grid(const Nested& numbers, const std::string& name) { return parameter(tensor(numbers, f64), name); }

// One set of WANT, HAVE and GIVE grids.
struct Team {
  std::string name;
  Tensor want, have, give;
};

Tensor project(const char* role, const Tensor& sheet, const Tensor& weight, const Hand& hand) {
  const Role scope(role);
  const Tensor rows = linear(sheet, weight);
  return hand.places(rows);
}

// The new sticks (slots, 4) of one team, printed step by step.
Tensor attend(Page& page, const Team& team, const Tensor& sheet, const Tensor& hidden, const Hand& hand) {
  const Scope scope(team.name);
  const Tensor want = project("query", sheet, team.want, hand);
  const Tensor have = project("key", sheet, team.have, hand);
  const Tensor give = project("value", sheet, team.give, hand);
  const Look found = look(want, have, give, hidden, hand);
  page.label(team.name + " WANT-grid", team.want);
  page.label(team.name + " HAVE-grid", team.have);
  page.label(team.name + " GIVE-grid", team.give);
  page.row(team.name + " WANT", want);
  page.row(team.name + " HAVE", have);
  page.row(team.name + " GIVE", give);
  page.row(team.name + " matches", found.matches);
  page.row(team.name + " scaled", found.scaled);
  page.row(team.name + " blown up", found.blown);
  page.row(team.name + " totals", found.total);
  page.row(team.name + " fractions", found.fractions);
  if (found.parts.defined()) page.label(team.name + " parts", found.parts);
  page.row(team.name + " new sticks", found.sticks);
  return found.sticks;
}

Tensor workers(const Tensor& x, const Tensor& weight, const Tensor& bias, const char* role,
               const Hand& hand) {
  const Role scope(role);
  const Tensor y = linear(x, weight, bias);
  return hand.places(y);
}

}  // namespace

void append_whole(Page& page, const Options& options, const Tensor& hidden) {
  const Hand hand(options.pencil);
  const Tensor table = grid({{0, 0, 0, 0}, {2, 1, 1, 0}, {0, 1, 2, 1}}, "embed.weight");
  const Team first{"team1",
                   grid({{1, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 0}}, "team1.query.weight"),
                   grid({{0, 1, 0, 2}, {0, 0, 0, 0}, {0, 0, 0, 2}, {0, 0, 0, 0}}, "team1.key.weight"),
                   grid({{1, 0, 0, 0}, {0, 0, 0, 3}, {0, 0, 0, 1}, {0, 1, 0, -1}}, "team1.value.weight")};
  const Team second{"team2",
                    grid({{0, 1, 0, 0}, {0, 0, 0, 1}, {0, 0, 0, 0}, {0, 0, 0, 0}}, "team2.query.weight"),
                    grid({{1, 0, 0, 0}, {0, 0, 0, 1}, {0, 0, 0, 0}, {0, 0, 0, 0}}, "team2.key.weight"),
                    grid({{0, 1, 0, 0}, {1, 0, 0, 0}, {0, 0, 0, 1}, {0, 0, 1, 0}}, "team2.value.weight")};
  const Tensor blend = grid({{1, 0, 0, 0, 0, 1, 0, 0},
                             {0, 1, 0, 0, 0, 0, 0, -1},
                             {0, 0, 1, 0, 1, 0, 0, 0},
                             {0, 0, 0, 1, 0, 0, 1, 0}},
                            "blend.weight");
  const Tensor blend_nudge = grid({0, 0, -1, 0}, "blend.bias");
  const Tensor worker_grid = grid({{1, -1, 1, 0}, {0, 1, 0, -1}, {-1, 0, 0, 1}}, "workers.weight");
  const Tensor worker_nudge = grid({0, -1, 0}, "workers.bias");
  const Tensor tick_grid = grid({{1, 2, 1}}, "tick.weight");
  const Tensor tick_nudge = grid({1}, "tick.bias");
  std::vector<std::int32_t> numbers_of_words(static_cast<std::size_t>(options.slots), 0);
  numbers_of_words[0] = 1;  // nolan
  numbers_of_words[1] = 2;  // ended
  const Tensor slots = named(tensor(numbers_of_words, {options.slots}), "slot numbers");

  Tape tape;
  page.line("");
  page.line("=== the whole machine: both rows, two teams, grids of whole numbers ===");
  page.row("slot numbers", slots);
  page.label("TABLE", table);
  const Tensor sheet = [&] {
    const Role role("embedding");
    return embedding(table, slots);
  }();
  page.row("sheet", sheet);
  const Tensor a = attend(page, first, sheet, hidden, hand);
  const Tensor b = attend(page, second, sheet, hidden, hand);
  const Tensor glued = [&] {
    const Role role("glue");
    return concat({a, b}, 1);
  }();
  page.row("glued", glued);
  page.label("BLEND-grid", blend);
  page.label("BLEND-nudge", blend_nudge);
  const Tensor blended = workers(glued, blend, blend_nudge, "blend", hand);
  page.row("blended", blended);
  const Tensor real =
      options.mask ? slice(blended, 0, 0, 2) : blended;  // the mask leaves the padding out here too
  const Tensor summary = [&] {
    const Role role("collapse");
    const Tensor average = mean(real, 0);
    return hand.places(average);
  }();
  page.row("summary stick", summary);
  page.label("workers' grid", worker_grid);
  page.label("workers' nudges", worker_nudge);
  const Tensor sums = workers(summary, worker_grid, worker_nudge, "workers", hand);
  page.row("workers", sums);
  const Tensor kept = relu(sums);
  page.row("keep positives", kept);
  page.label("tick's grid", tick_grid);
  page.label("tick's nudge", tick_nudge);
  const Tensor verdict = workers(kept, tick_grid, tick_nudge, "logit", hand);
  page.row("tick worker", verdict);
  const Tensor chance = [&] {
    const Role role("probability");
    const Tensor crushed = sigmoid(verdict);
    return hand.places(crushed);
  }();
  page.row("crush to 0..1", chance);
  Tensor logarithm;
  const Tensor wrongness = [&] {
    const Role role("loss");
    logarithm = log(chance);
    const Tensor negative = -logarithm;
    return hand.places(negative);
  }();
  page.label("log of the chance", logarithm);
  page.row("wrongness, tick 1", wrongness);

  tape.backward(wrongness);
  page.line("");
  page.line("--- blame, from the wrongness all the way back ---");
  page.blame(tape);
  if (options.tape) {
    page.line("");
    page.line("--- the tape ---");
    page.line("{}", dump(tape, {.whole = 64}));
  }
}

}  // namespace pencil::nolan
