#pragma once

#include <cstdint>

namespace pencil {

/// SplitMix64's output function (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014): a
/// counter in, 64 well-mixed bits out.
constexpr std::uint64_t mix(std::uint64_t counter) {
  std::uint64_t z = counter + 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// The uniform number in [0, 1) that 64 random bits stand for, on a grid of 2^-53.
constexpr double unit(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

/// A small seeded generator: the same seed gives the same numbers on every machine. Its whole state is two
/// words.
class Rng {
 public:
  explicit constexpr Rng(std::uint64_t seed) : key_(mix(seed)) {}

  /// 64 random bits.
  constexpr std::uint64_t next() { return mix(key_ + 0x9e3779b97f4a7c15u * counter_++); }
  /// Uniform in [0, 1).
  constexpr double uniform() { return unit(next()); }
  /// Uniform in 0 … n − 1, for n ≥ 1, without bias.
  constexpr std::uint64_t below(std::uint64_t n) {
    const std::uint64_t limit = (std::uint64_t{0} - n) % n;  // 2^64 mod n
    for (;;) {
      const std::uint64_t bits = next();
      if (bits >= limit) return bits % n;
    }
  }
  /// Standard normal (Box and Muller, 1958).
  double normal();

 private:
  std::uint64_t key_;
  std::uint64_t counter_ = 0;
};

}  // namespace pencil
