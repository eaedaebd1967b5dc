#include "examples/nolan/nolan.hpp"

#include "examples/nolan/page.hpp"
#include "examples/nolan/pencil.hpp"
#include "examples/nolan/whole.hpp"

namespace pencil::nolan {

namespace {

// 1 for each slot that holds no word; undefined without --mask.
Tensor hidden_slots(const Options& options) {
  if (!options.mask) return {};
  std::vector<std::int32_t> hidden(static_cast<std::size_t>(options.slots), 1);
  hidden[0] = hidden[1] = 0;
  return named(tensor(hidden, {options.slots}), "padding");
}

// The two words' sticks and, below them, rows of zeros for the padding.
Tensor rows(const char* role, const Tensor& nolan, const Tensor& ended, std::int64_t slots) {
  const Role scope(role);
  const Tensor words = stack({nolan, ended});
  if (slots == 2) return words;
  const Tensor padding = named(zeros({slots - 2, nolan.size(0)}, f64), "padding");
  return concat({words, padding}, 0);
}

struct Shares {
  double nolan = 0, ended = 0, padding = 0;
};

Shares shares(const Tensor& fractions) {
  const std::vector<double> all = fractions.to_vector();
  Shares found{.nolan = all[0], .ended = all[1]};
  for (std::size_t i = 2; i < all.size(); ++i) found.padding += all[i];
  return found;
}

void print_fractions(Page& page, const Options& options, const Look& found, const Shares& unmasked) {
  if (options.pencil)
    page.line("blown up by e: {:#.4g} {:#.4g} total {:#.4g}", found.blown.values<double>()[0],
              found.blown.values<double>()[1], found.total.item());
  const Shares s = shares(found.fractions);
  const double all = s.nolan + s.ended + s.padding;
  if (options.slots == 2) {
    page.line("softmax fractions: nolan={:.3f} ended={:.3f} sum={:.3f}", s.nolan, s.ended, all);
    return;
  }
  page.line("softmax fractions: nolan={:.3f} ended={:.3f} padding={:.3f} sum={:.3f}", s.nolan, s.ended,
            s.padding, all);
  const std::int64_t n = options.slots - 2;
  page.line("({} padding row{}, HAVE = 0, score 0: {:.1f} % of the listening", n, n == 1 ? "" : "s",
            100 * unmasked.padding);
  page.line(" without a mask: nolan {:.4f}, ended {:.4f}, padding {:.4f}{}", unmasked.nolan, unmasked.ended,
            unmasked.padding, options.mask ? "" : ")");
  if (options.mask)
    page.line(" with the mask:  nolan {:.4f}, ended {:.4f}, padding {:.4f})", s.nolan, s.ended, s.padding);
}

}  // namespace

std::string page(const Options& options) {
  Page page;
  const Hand hand(options.pencil);

  const Tensor embed = parameter(tensor({2, 1, 1, 0}, f64), "nolan.embed");
  const Tensor want_grid =
      parameter(tensor({{1, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 0}}, f64), "nolan.WANT.weight");
  const Tensor nolan_have = parameter(tensor({1, 0, 0, 0}, f64), "nolan.HAVE");
  const Tensor ended_have = parameter(tensor({3, 0, 2, 0}, f64), "ended.HAVE");
  const Tensor nolan_give = parameter(tensor({2, 0, 0, 1}, f64), "nolan.GIVE");
  const Tensor ended_give = parameter(tensor({0, 3, 1, 0}, f64), "ended.GIVE");
  const Tensor hidden = hidden_slots(options);

  Tape tape;
  Tensor want;
  {
    const Role role("query");
    const Tensor product = matmul(want_grid, embed);
    want = hand.places(product);
  }
  const Tensor have = rows("key", nolan_have, ended_have, options.slots);
  const Tensor give = rows("value", nolan_give, ended_give, options.slots);
  const Look found = look(want, have, give, hidden, hand);
  const Shares unmasked = [&] {
    const Tape apart;  // what the listening would be without the mask, on a tape of its own
    return shares(look(want, have, give, {}, hand).fractions);
  }();

  page.line("=== 'nolan' looks at every word (stick width 4{}) ===",
            options.pencil ? ", rounded as with a pencil" : "");
  page.line("nolan.WANT = {}", numbers(want));
  page.line("nolan.HAVE = {}", numbers(nolan_have));
  page.line("ended.HAVE = {}", numbers(ended_have));
  page.line("");
  page.line("matches (dot products): {}", numbers(found.matches));
  page.line("scaled (/sqrt(4)): {}", numbers(found.scaled));
  print_fractions(page, options, found, unmasked);
  page.line("");
  page.line("nolan's new stick (after attending): {}", numbers(found.sticks));

  if (options.blame) {
    const Tensor total = sum(found.sticks);
    tape.backward(total);
    page.label("WANT-grid", want_grid);
    page.label("nolan.embed", embed);
    page.label("nolan.WANT", want);
    page.label("nolan.HAVE", nolan_have);
    page.label("ended.HAVE", ended_have);
    page.label("nolan.GIVE", nolan_give);
    page.label("ended.GIVE", ended_give);
    page.label("matches", found.matches);
    page.label("scaled", found.scaled);
    page.label("blown up by e", found.blown);
    page.label("their total", found.total);
    page.label("fractions", found.fractions);
    if (found.parts.defined()) page.label("fraction * GIVE", found.parts);
    page.label("new stick", found.sticks);
    page.label("sum", total);
    page.line("");
    page.line("--- blame, from the sum of the new stick back ---");
    page.blame(tape);
  }
  if (options.tape) {
    page.line("");
    page.line("--- the tape ---");
    page.line("{}", dump(tape));
  }
  if (options.whole) append_whole(page, options, hidden);
  return page.take();
}

}  // namespace pencil::nolan
