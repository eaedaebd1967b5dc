#include <numeric>

#include "autograd/files/npy.hpp"
#include "tests/autograd/files/support.hpp"
#include "tests/catch.hpp"

using namespace pencil;
using namespace pencil::tests;

namespace {

/// The bytes of a .npy file of that version.
std::string npy(int version, std::string header, const std::string& data) {
  std::string start = "\x93NUMPY";
  start += static_cast<char>(version);
  start += '\0';
  header += '\n';
  if (version == 1)
    start += little(static_cast<std::uint16_t>(header.size()));
  else
    start += little(static_cast<std::uint32_t>(header.size()));
  return start + header + data;
}

std::string header(const std::string& descr, const std::string& shape, bool fortran = false) {
  return "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") +
         ", 'shape': " + shape + ", }";
}

template <class T>
std::string count(int n, std::string (*bytes)(T)) {
  std::string out;
  for (int i = 0; i < n; ++i) out += bytes(static_cast<T>(i));
  return out;
}

std::vector<double> up_to(int n) {
  std::vector<double> numbers(static_cast<std::size_t>(n));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

}  // namespace

TEST_CASE("npy: versions 1 to 3, both byte orders, every dtype") {
  const TemporaryFolder folder;
  const auto read = [&](const std::string& bytes) { return load_npy(folder.write("a.npy", bytes)); };
  for (const int version : {1, 2, 3}) {
    INFO("version " << version);
    const Tensor x = read(npy(version, header("<f8", "(2, 3)"), count<double>(6, little)));
    CHECK(x.dtype() == f64);
    CHECK(x.shape() == Shape{2, 3});
    CHECK(x.to_vector() == up_to(6));
  }
  const auto same = [&](const std::string& descr, const std::string& data, DType dtype) {
    INFO(descr);
    const Tensor x = read(npy(1, header(descr, "(6,)"), data));
    CHECK(x.dtype() == dtype);
    CHECK(x.shape() == Shape{6});
    CHECK(x.to_vector() == up_to(6));
  };
  same(">f8", count<double>(6, big), f64);
  same("<f4", count<float>(6, little), f32);
  same(">f4", count<float>(6, big), f32);
  same("=f4", count<float>(6, little), f32);
  same("<i4", count<std::int32_t>(6, little), i32);
  same(">i4", count<std::int32_t>(6, big), i32);
  same("<i8", count<std::int64_t>(6, little), i32);
  same(">i8", count<std::int64_t>(6, big), i32);
  same("<i2", count<std::int16_t>(6, little), i32);
  same(">u2", count<std::uint16_t>(6, big), i32);
  same("<u8", count<std::uint64_t>(6, little), i32);
  same("|i1", count<std::int8_t>(6, little), i32);
  same("|u1", count<std::uint8_t>(6, little), i32);
  CHECK(read(npy(1, header("|b1", "(2,)"), std::string("\1\0", 2))).to_vector() == std::vector<double>{1, 0});
}

TEST_CASE("npy: ranks 0 and up, sizes of 0") {
  const TemporaryFolder folder;
  const auto read = [&](const std::string& shape, int n) {
    return load_npy(folder.write("a", npy(1, header("<f8", shape), count<double>(n, little)))).shape();
  };
  CHECK(read("()", 1) == Shape{});
  CHECK(read("(1,)", 1) == Shape{1});
  CHECK(read("(2,3,)", 6) == Shape{2, 3});
  CHECK(read("(2L, 3L)", 6) == Shape{2, 3});
  CHECK(read("(0,)", 0) == Shape{0});
  CHECK(read("(3, 0, 2)", 0) == Shape{3, 0, 2});
  CHECK(read("(1, 1, 1, 1, 1, 1, 1, 2)", 2) == Shape{1, 1, 1, 1, 1, 1, 1, 2});
}

TEST_CASE("npy: column-major arrays come out row-major (BC-76)") {
  const TemporaryFolder folder;
  const auto read = [&](const std::string& descr, const std::string& shape, const std::string& data) {
    return load_npy(folder.write("a.npy", npy(1, header(descr, shape, true), data)));
  };
  CHECK(read("<f8", "(2, 3)", count<double>(6, little)).to_vector() == std::vector<double>{0, 2, 4, 1, 3, 5});
  CHECK(read(">i8", "(2, 3)", count<std::int64_t>(6, big)).to_vector() ==
        std::vector<double>{0, 2, 4, 1, 3, 5});
  CHECK(read("<f4", "(5,)", count<float>(5, little)).to_vector() == up_to(5));
  CHECK(read("<f4", "()", count<float>(1, little)).to_vector() == up_to(1));
  CHECK(read("<f4", "(3, 0)", "").shape() == Shape{3, 0});

  const Tensor x = read("<f8", "(2, 3, 4)", count<double>(24, little));
  const auto values = x.values<double>();
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      for (std::size_t k = 0; k < 4; ++k)
        CHECK(values[(i * 3 + j) * 4 + k] == static_cast<double>(i + 2 * j + 6 * k));

  std::string numbers = count<std::int64_t>(6, little);
  numbers.replace(8, 8, little(std::int64_t{1} << 33));  // the second number of the file: row 1, column 0
  REQUIRE_THROWS_WITH(
      read("<i8", "(2, 3)", numbers),
      Says("a.npy: the array: the number 8589934592 at position [1, 0] does not fit into i32"));
}

TEST_CASE("npy: long headers, keys in any order, either quote (BC-76)") {
  const TemporaryFolder folder;
  const auto read = [&](int version, const std::string& text) {
    return load_npy(folder.write("a", npy(version, text, count<float>(2, little)))).to_vector();
  };
  CHECK(read(1, header("<f4", "(2,)") + std::string(1000, ' ')) == up_to(2));
  CHECK(read(2, header("<f4", "(2,)") + std::string(70000, ' ')) == up_to(2));
  CHECK(read(1, R"({"shape":(2,),"fortran_order":False,"descr":"<f4"})") == up_to(2));
  CHECK(read(3, "{ 'shape' : ( 2 , ) , 'descr' : '<f4' , 'fortran_order' : False , }") == up_to(2));
}

TEST_CASE("npy: what cannot be read is an error, never garbage") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& bytes, const std::string& reason) {
    INFO(reason);
    REQUIRE_THROWS_WITH(load_npy(folder.write("a.npy", bytes)),
                        Says("[npy] ") && Says("a.npy: ") && Says(reason));
  };
  const std::string two = count<float>(2, little);
  refused("", "does not begin with the mark of a .npy file");
  refused("PK\3\4 and so on, a .npz file", "does not begin with the mark");
  refused(std::string("\x93NUMPY\1\0", 8), "does not begin with the mark");
  refused(npy(4, header("<f4", "(2,)"), two), "has format version 4.0; 1.0, 2.0 and 3.0 can be read");
  refused(npy(0, header("<f4", "(2,)"), two), "has format version 0.0");
  refused(std::string("\x93NUMPY\2\0\1\0\0", 11), "ends within its header");
  refused(std::string("\x93NUMPY\2\0\xff\xff\xff\xff{}", 14),
          "says its header is 4294967295 bytes long, but only 2 bytes follow");
  refused(npy(1, header("<f4", "(3,)"), two),
          "holds 8 bytes of numbers; shape (3) of '<f4' needs 3 numbers of 4 bytes");
  refused(npy(1, header("<f4", "(1,)"), two), "holds 8 bytes of numbers");
  refused(npy(1, header("<f8", "(1,)"), "1234567"), "holds 7 bytes of numbers");
  refused(npy(1, header("<f4", "(1000000, 1000000)"), two), "needs 1000000000000 numbers");
  refused(npy(1, header("<f4", "(4611686018427387904,)"), ""), "needs 4611686018427387904 numbers");
  refused(npy(1, header("<f4", "(4294967296, 4294967296)"), ""), "more than 2^62 numbers");
  refused(npy(1, header("<f4", "(99999999999999999999,)"), two), "need a size");
  refused(npy(1, header("<f4", "(-1,)"), two), "need a size");
  refused(npy(1, header("<f4", "(1,1,1,1,1,1,1,1,2)"), two), "9 axes given");
  refused(npy(1, header("<f4", "(2)"), two), "need ','");
  refused(npy(1, header("<f4", "2"), two), "need '('");
  refused(npy(1, header("<f4", "(1 2)"), two), "need ','");
  refused(npy(1, header("<f4", "(1, 2"), two), "need");
  for (const std::string descr :
       {"<f2", "<c8", "|S5", "<U4", "|O", "<M8[ns]", "f4", "<f", "<i3", "?f4", "|b2"})
    refused(npy(1, header(descr, "(2,)"), two), "has dtype '" + descr + "'; f4, f8, b1 and whole numbers");
  refused(npy(1, header("|f4", "(2,)"), two), "has dtype '|f4', which does not say its byte order");
  refused(npy(1, "{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (2,)}", two), "holds records");
  refused(npy(1, "{'fortran_order': False, 'shape': (2,)}", two), "its header has no descr");
  refused(npy(1, "{'descr': '<f4', 'shape': (2,)}", two), "its header has no fortran_order");
  refused(npy(1, "{'descr': '<f4', 'fortran_order': False}", two), "its header has no shape");
  refused(npy(1, "{'descr': '<f4', 'descr': '<f8', 'fortran_order': False, 'shape': (2,)}", two),
          "the key 'descr' twice");
  refused(npy(1, "{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}", two), "need True or False");
  refused(npy(1, "{'descr': '<f4', 'order': 'C'}", two), "its header has a key 'order'");
  refused(npy(1, "{'descr': '<f4}", two), "need a closing quote");
  refused(npy(1, header("<f4", "(2,)") + " x", two), "need the end");
  refused(npy(1, "[]", two), "need '{'");
  refused(npy(1, header("|b1", "(2,)"), std::string("\1\2", 2)),
          "the number 2 at position [1] is neither 0 (false) nor 1");
  REQUIRE_THROWS_WITH(load_npy(folder / "none"), Says("none: there is no such file"));
}
