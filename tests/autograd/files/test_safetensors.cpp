#include <sys/stat.h>

#include <cstring>
#include <limits>

#include "autograd/create.hpp"
#include "autograd/files/safetensors.hpp"
#include "tests/autograd/files/support.hpp"
#include "tests/catch.hpp"
#include "tests/paths.hpp"

using namespace pencil;
using namespace pencil::tests;

namespace {

/// The bytes of a file with this header and this data.
std::string file_of(const std::string& header, const std::string& data = "") {
  return little(std::uint64_t{header.size()}) + header + data;
}

/// One tensor 'x' described by the given dtype, shape and offsets.
std::string one(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"x":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
}

std::string data(std::size_t bytes) { return std::string(bytes, '\0'); }

Tensor x_of(const TemporaryFolder& folder, const std::string& bytes) {
  return load_safetensors(folder.write("a.safetensors", bytes)).at("x");
}

}  // namespace

TEST_CASE("safetensors: what is saved is loaded, names in their order") {
  const TemporaryFolder folder;
  const auto path = folder / "model.safetensors";
  const Tensor w = tensor({{1, 2.5, -3}, {4, 5, 6}}), b = tensor({0.1, 1e300}, f64),
               ids = tensor({{7}, {-2147483648.0}}, i32), rate = tensor(0.5), none = zeros({3, 0, 2});
  save_safetensors(
      path, {{{"z.weight", w}, {"bias", b}, {"ids", ids}, {"", rate}, {"nöne \"\\\n", none}},
             {{"dictionary", "the\nand\n\"quoted\" ü\\"}, {"empty", ""}, {std::string("a\0b", 3), "\x01"}}});
  const TensorFile file = load_safetensors(path);

  REQUIRE(file.tensors.size() == 5);
  CHECK(file.tensors[0].first == "z.weight");
  CHECK(file.tensors[4].first == "nöne \"\\\n");
  CHECK(file.at("z.weight").shape() == Shape{2, 3});
  CHECK(file.at("z.weight").to_vector() == w.to_vector());
  CHECK(file.at("bias").dtype() == f64);
  CHECK(file.at("bias").to_vector() == b.to_vector());
  CHECK(file.at("ids").dtype() == i32);
  CHECK(file.at("ids").to_vector() == ids.to_vector());
  CHECK(file.at("").shape() == Shape{});
  CHECK(file.at("").item() == 0.5);
  CHECK(file.at("nöne \"\\\n").shape() == Shape{3, 0, 2});
  CHECK(file.metadata.size() == 3);
  CHECK(file.metadata.at("dictionary") == "the\nand\n\"quoted\" ü\\");
  CHECK(file.metadata.at(std::string("a\0b", 3)) == "\x01");

  CHECK(file.find("no such") == nullptr);
  REQUIRE_THROWS_WITH(file.at("no such"), Says("there is no tensor 'no such' among the 5"));
}

TEST_CASE("safetensors: every bit of a float survives") {
  const TemporaryFolder folder;
  const std::vector<double> hard{std::numeric_limits<double>::denorm_min(), -0.0,
                                 std::numeric_limits<double>::infinity(),
                                 std::numeric_limits<double>::quiet_NaN(), 0.1};
  save_safetensors(folder / "a", {{{"x", tensor(hard, {5})}}, {}});
  const auto back = load_safetensors(folder / "a").at("x");
  CHECK(std::memcmp(back.values<double>().data(), hard.data(), 40) == 0);
}

TEST_CASE("safetensors: the same input makes the same bytes, numbers stand aligned") {
  const TemporaryFolder folder;
  // Five floats come first: f64 behind them would stand at byte 20.
  const TensorFile file{{{"a", zeros({5})}, {"b", ones({2}, f64)}, {"c", ones({3}, i32)}}, {{"k", "v"}}};
  save_safetensors(folder / "1", file);
  save_safetensors(folder / "2", file);
  const std::string bytes = bytes_of_file(folder / "1");
  CHECK(bytes == bytes_of_file(folder / "2"));

  const std::string header =
      R"({"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[5],"data_offsets":[16,36]},)"
      R"("b":{"dtype":"F64","shape":[2],"data_offsets":[0,16]},"c":{"dtype":"I32","shape":[3],"data_offsets":[36,48]}})";
  CHECK(bytes.substr(8, header.size()) == header);
  CHECK((bytes.size() - 48) % 8 == 0);
  CHECK(bytes.substr(bytes.size() - 48, 16) == little(1.0) + little(1.0));
}

TEST_CASE("safetensors: a file without tensors") {
  const TemporaryFolder folder;
  save_safetensors(folder / "a", {});
  CHECK(bytes_of_file(folder / "a") == file_of("{}      "));
  CHECK(load_safetensors(folder / "a").tensors.empty());
  save_safetensors(folder / "a", {{}, {{"only", "text"}}});
  CHECK(load_safetensors(folder / "a").metadata.at("only") == "text");
}

TEST_CASE("safetensors: whole numbers of other widths become i32 or throw with their position") {
  const TemporaryFolder folder;
  const auto read = [&](const std::string& dtype, const std::string& shape, const std::string& bytes) {
    return x_of(folder, file_of(one(dtype, shape, "[0," + std::to_string(bytes.size()) + "]"), bytes));
  };
  using Numbers = std::vector<std::int32_t>;
  using std::int64_t;
  CHECK(read("I64", "[2]", little(int64_t{-2147483648}) + little(int64_t{2147483647}))
            .to_vector<std::int32_t>() == Numbers{-2147483647 - 1, 2147483647});
  CHECK(read("U8", "[2]", "\x07\xff").to_vector<std::int32_t>() == Numbers{7, 255});
  CHECK(read("I8", "[2]", "\x07\xff").to_vector<std::int32_t>() == Numbers{7, -1});
  CHECK(read("I16", "[1]", "\xfe\xff").to_vector<std::int32_t>() == Numbers{-2});
  CHECK(read("U16", "[1]", "\xfe\xff").to_vector<std::int32_t>() == Numbers{65534});
  CHECK(read("BOOL", "[3]", std::string("\1\0\1", 3)).to_vector<std::int32_t>() == Numbers{1, 0, 1});

  REQUIRE_THROWS_WITH(
      read("I64", "[2,2]",
           little(int64_t{1}) + little(int64_t{2}) + little(int64_t{3000000000}) + little(int64_t{4})),
      Says("a.safetensors: tensor 'x': the number 3000000000 at position [1, 0] does not fit into i32"));
  REQUIRE_THROWS_WITH(read("U32", "[1]", "\xff\xff\xff\xff"), Says("the number 4294967295 at position [0]"));
  REQUIRE_THROWS_WITH(read("U64", "[]", std::string(8, '\xff')),
                      Says("the number 18446744073709551615 at position []"));
  REQUIRE_THROWS_WITH(read("BOOL", "[2]", "\1\2"),
                      Says("the number 2 at position [1] is neither 0 (false) nor 1 (true)"));

  // More numbers than one reading takes.
  std::string many;
  for (int64_t i = 0; i < 20000; ++i) many += little(i == 19999 ? int64_t{1} << 40 : i);
  REQUIRE_THROWS_WITH(read("I64", "[20000]", many), Says("the number 1099511627776 at position [19999]"));
  many.replace(many.size() - 8, 8, little(int64_t{-5}));
  const auto numbers = read("I64", "[20000]", many).to_vector<std::int32_t>();
  CHECK(numbers[8191] == 8191);
  CHECK(numbers[8192] == 8192);
  CHECK(numbers[19999] == -5);
}

TEST_CASE("safetensors: dtypes that cannot be read are named (BC-71)") {
  const TemporaryFolder folder;
  REQUIRE_THROWS_WITH(x_of(folder, file_of(one("F13", "[1]", "[0,4]"), data(4))),
                      Says("a.safetensors: tensor 'x' has the unknown dtype 'F13'"));
  REQUIRE_THROWS_WITH(x_of(folder, file_of(one("f32", "[1]", "[0,4]"), data(4))),
                      Says("unknown dtype 'f32'"));
  for (const std::string dtype : {"BF16", "F16", "F8_E4M3", "F4", "C64"})
    REQUIRE_THROWS_WITH(
        x_of(folder, file_of(one(dtype, "[4]", "[0,8]"), data(8))),
        Says("tensor 'x' has dtype " + dtype + "; F32, F64, BOOL and whole numbers can be read"));
}

TEST_CASE("safetensors: a size that does not fit the shape throws before anything is allocated (BC-67)") {
  const TemporaryFolder folder;
  REQUIRE_THROWS_WITH(
      x_of(folder, file_of(one("F32", "[1000,1000]", "[0,4]"), data(4))),
      Says("tensor 'x' of shape (1000, 1000) and dtype F32 needs 1000000 numbers of 4 bytes; the header "
           "gives it 4 bytes"));
  REQUIRE_THROWS_WITH(x_of(folder, file_of(one("F32", "[1]", "[0,5]"), data(5))), Says("gives it 5 bytes"));
  // 2^62 numbers of four bytes: 2^64 bytes, which would wrap to 0.
  REQUIRE_THROWS_WITH(x_of(folder, file_of(one("F32", "[4611686018427387904]", "[0,0]"))),
                      Says("gives it 0 bytes"));
  REQUIRE_THROWS_WITH(x_of(folder, file_of(one("F32", "[4294967296,4294967296]", "[0,0]"))),
                      Says("tensor 'x': [shape] 2 axes multiply to more than 2^62 numbers"));
  REQUIRE_THROWS_WITH(x_of(folder, file_of(one("F32", "[18446744073709551615,0]", "[0,0]"))),
                      Says("tensor 'x' has an axis of size 18446744073709551615"));
  REQUIRE_THROWS_WITH(x_of(folder, file_of(one("F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]"), data(4))),
                      Says("9 axes given"));
}

TEST_CASE("safetensors: header lengths that are too long throw before anything is allocated (BC-68)") {
  const TemporaryFolder folder;
  const auto load = [&](const std::string& bytes) { return load_safetensors(folder.write("a", bytes)); };
  REQUIRE_THROWS_WITH(load(""), Says("is 0 bytes long; the header's length alone takes 8"));
  REQUIRE_THROWS_WITH(load("\x02{}"), Says("is 3 bytes long"));
  REQUIRE_THROWS_WITH(
      load(std::string(8, '\xff') + "{}"),
      Says("says its header is 18446744073709551615 bytes long; the format allows at most 100000000"));
  REQUIRE_THROWS_WITH(load(little(std::uint64_t{100000001}) + "{}"), Says("allows at most 100000000"));
  REQUIRE_THROWS_WITH(load(little(std::uint64_t{100000000}) + "{}"),
                      Says("says its header is 100000000 bytes long, but only 2 bytes follow"));
  REQUIRE_THROWS_WITH(load(little(std::uint64_t{3}) + "{}"), Says("3 bytes long, but only 2 bytes follow"));
  CHECK(load(little(std::uint64_t{2}) + "{}").tensors.empty());
}

TEST_CASE(
    "safetensors: overlaps, shared bytes, holes, trailing and missing bytes each have their reason (BC-70)") {
  const TemporaryFolder folder;
  const auto load = [&](const std::vector<std::pair<int, int>>& offsets, std::size_t bytes) {
    std::string header = "{";
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      const auto [begin, end] = offsets[i];
      header += fmt::format(R"({}"t{}":{{"dtype":"U8","shape":[{}],"data_offsets":[{},{}]}})", i ? "," : "",
                            i, end - begin, begin, end);
    }
    return load_safetensors(folder.write("a.safetensors", file_of(header + "}", data(bytes))));
  };
  CHECK(load({{0, 16}, {16, 16}, {16, 20}}, 20).tensors.size() == 3);
  CHECK(load({{4, 8}, {0, 4}}, 8).tensors.size() == 2);  // in any order

  REQUIRE_THROWS_WITH(load(std::vector<std::pair<int, int>>(10, {0, 16}), 16),
                      Says("tensors 't0' and 't1' share the same bytes (bytes 0 to 16 and 0 to 16)"));
  REQUIRE_THROWS_WITH(load({{0, 16}, {12, 24}}, 24),
                      Says("tensors 't0' and 't1' overlap (bytes 0 to 16 and 12 to 24)"));
  REQUIRE_THROWS_WITH(load({{0, 16}, {4, 8}}, 16), Says("overlap"));
  REQUIRE_THROWS_WITH(load({{0, 4}, {8, 12}}, 12),
                      Says("bytes 4 to 8 of the data, before tensor 't1', belong to no tensor"));
  REQUIRE_THROWS_WITH(load({{2, 4}}, 4),
                      Says("bytes 0 to 2 of the data, before tensor 't0', belong to no tensor"));
  REQUIRE_THROWS_WITH(load({{0, 16}}, 50),
                      Says("34 bytes at its end, behind byte 16 of the data, belong to no tensor"));
  REQUIRE_THROWS_WITH(load({}, 1), Says("1 bytes at its end"));
  REQUIRE_THROWS_WITH(load({{0, 16}}, 14),
                      Says("tensor 't0' ends at byte 16, but the file's data has only 14"));
  REQUIRE_THROWS_WITH(x_of(folder, file_of(one("U8", "[2]", "[4,2]"), data(4))),
                      Says("tensor 'x' ends at byte 2, before it begins at 4"));
}

TEST_CASE("safetensors: headers that are not as the format says") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& header, const std::string& reason) {
    INFO(header);
    REQUIRE_THROWS_WITH(load_safetensors(folder.write("a.safetensors", file_of(header, data(4)))),
                        Says("[safetensors] ") && Says("a.safetensors: ") && Says(reason));
  };
  refused("", "does not begin with '{'");
  refused(" {}", "does not begin with '{'");
  refused("[]", "does not begin with '{'");
  refused("{", "no JSON");
  refused("{}}", "no JSON");
  refused("{} x", "no JSON");
  refused("{/**/}", "no JSON");
  refused(std::string("{}\0{", 4), "zero byte at its byte 2");
  refused("{\"\xff\":1}", "no JSON");
  refused(R"({"x":1})", "'x' is a number; need an object");
  refused(R"({"x":[]})", "'x' is a list; need an object");
  refused(
      R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
      "the name 'x' comes twice");
  refused(R"({"__metadata__":{"a":"1","a":"2"}})", "the metadata key 'a' comes twice");
  refused(R"({"__metadata__":{},"__metadata__":{}})", "the name '__metadata__' comes twice");
  refused(R"({"__metadata__":{"a":1}})", "the metadata 'a' is a number; need a text");
  refused(R"({"__metadata__":{"a":{}}})", "the metadata 'a' is an object; need a text");
  refused(R"({"__metadata__":"a"})", "'__metadata__' is a text; need an object");
  refused(R"({"x":{"dtype":"F32","shape":[1]}})", "tensor 'x' has no data_offsets");
  refused(R"({"x":{"dtype":"F32","data_offsets":[0,4]}})", "tensor 'x' has no shape");
  refused(R"({"x":{"shape":[1],"data_offsets":[0,4]}})", "tensor 'x' has no dtype");
  refused(R"({"x":{}})", "tensor 'x' has no dtype");
  refused(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"stride":[1]}})", "has a field 'stride'");
  refused(R"({"x":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
          "has its field 'dtype' twice");
  refused(one("F32", "[1]", "[0,4,8]"), "tensor 'x' has 3 data_offsets; need 2");
  refused(one("F32", "[1]", "[]"), "tensor 'x' has 0 data_offsets; need 2");
  refused(one("F32", "[-1]", "[0,4]"),
          "tensor 'x' has a negative number in its shape; need a list of whole numbers");
  refused(one("F32", "[1.0]", "[0,4]"), "tensor 'x' has the number 1.0 in its shape");
  refused(one("F32", "[1]", "[0,18446744073709551616]"),
          "has the number 18446744073709551616 in its data_offsets");
  refused(one("F32", "[[1]]", "[0,4]"), "tensor 'x' has a list in its shape");
  refused(one("F32", "[null]", "[0,4]"), "has null in its shape");
  refused(one("F32", "1", "[0,4]"), "has a number in its shape");
  refused(one("F32", "[true]", "[0,4]"), "has true or false in its shape");
  refused(one("F32", R"(["1"])", "[0,4]"), "has a text in its shape");
  refused(R"({"x":{"dtype":["F32"],"shape":[1],"data_offsets":[0,4]}})",
          "has a list in its dtype; need a text");
  refused("{\"x\":" + std::string(1000000, '['), "'x' is a list; need an object");  // no recursion
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += R"({"a":)";
  refused(deep, "tensor 'a' has a field 'a'");
}

TEST_CASE("safetensors: headers of any length load (BC-73)") {
  const TemporaryFolder folder;
  for (const std::size_t length : std::initializer_list<std::size_t>{4095, 4096, 4097, 65535, 65536, 65537,
                                                                     99994, 99999, 100000, 100001, 1000000}) {
    INFO(length);
    std::string header =
        R"({"__metadata__":{"note":""},"x":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})";
    const std::string note(length - header.size(), 'n');
    header.insert(header.find("\"\"") + 1, note);
    REQUIRE(header.size() == length);
    const TensorFile file = load_safetensors(folder.write("a", file_of(header, little(2.5f))));
    CHECK(file.metadata.at("note") == note);
    CHECK(file.at("x").item() == 2.5);
    CHECK(x_of(folder, file_of(one("F32", "[]", "[0,4]") + std::string(length, ' '), little(2.5f))).item() ==
          2.5);
  }
}

TEST_CASE("safetensors: saving over the file that was loaded (BC-74)") {
  const TemporaryFolder folder;
  const auto path = folder / "model.safetensors";
  std::vector<float> numbers(300000);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  save_safetensors(path, {{{"x", tensor(numbers, {300, 1000})}}, {{"a", "b"}}});
  const std::string before = bytes_of_file(path);
  save_safetensors(path, load_safetensors(path));
  CHECK(bytes_of_file(path) == before);
  CHECK(folder.entries() == 1);  // nothing temporary stays
}

TEST_CASE("safetensors: a file is replaced whole, never written in place") {
  const TemporaryFolder folder;
  const auto path = folder / "a";
  save_safetensors(path, {{{"x", tensor(1.0)}}, {}});
  std::ifstream reader(path, std::ios::binary);  // someone is reading the old one
  const std::string old = bytes_of_file(path);
  save_safetensors(path, {{{"y", tensor(2.0)}}, {}});
  CHECK(std::string{std::istreambuf_iterator<char>(reader), {}} == old);
  CHECK(load_safetensors(path).at("y").item() == 2);

  std::filesystem::create_symlink("a", folder / "link");
  save_safetensors(folder / "link", {{{"z", tensor(3.0)}}, {}});
  CHECK(std::filesystem::is_symlink(folder / "link"));
  CHECK(load_safetensors(path).at("z").item() == 3);
  CHECK(folder.entries() == 2);
}

TEST_CASE("safetensors: what cannot be written leaves the old file and nothing temporary") {
  const TemporaryFolder folder;
  const auto path = folder / "a";
  save_safetensors(path, {{{"x", tensor(1.0)}}, {}});
  const std::string before = bytes_of_file(path);
  const auto refused = [&](const TensorFile& file, const std::string& reason) {
    REQUIRE_THROWS_WITH(save_safetensors(path, file), Says("[safetensors] " + path.string() + ": " + reason));
  };
  refused({{{"w", tensor(1.0)}, {"w", tensor(2.0)}}, {}}, "the name 'w' comes twice");
  refused({{{"__metadata__", tensor(1.0)}}, {}}, "no tensor can be named '__metadata__'");
  refused({{{"w", Tensor()}}, {}}, "tensor 'w' was never given a value");
  refused({{{"w\xff", tensor(1.0)}}, {}}, "the text '\"w\xef\xbf\xbd\"' is no UTF-8");
  refused({{}, {{"k", "\xc3"}}}, "the text");
  CHECK(bytes_of_file(path) == before);
  CHECK(folder.entries() == 1);

  REQUIRE_THROWS_WITH(save_safetensors(folder.path(), {}),
                      Says("is no regular file, so it is not written over"));
  REQUIRE_THROWS_WITH(save_safetensors("/dev/null", {}), Says("is no regular file"));
  REQUIRE_THROWS_WITH(save_safetensors(folder / "no/such/a", {}),
                      Says("no file can be made in its folder: No such file or directory"));
  CHECK(folder.entries() == 1);
}

TEST_CASE("safetensors: files that cannot be opened are named") {
  const TemporaryFolder folder;
  REQUIRE_THROWS_WITH(load_safetensors(folder / "none"),
                      Says("[safetensors] " + (folder / "none").string() + ": there is no such file"));
  REQUIRE_THROWS_WITH(load_safetensors(folder.path()), Says("is no regular file"));
  REQUIRE(::mkfifo((folder / "fifo").c_str(), 0600) == 0);  // opening it would wait for a writer
  REQUIRE_THROWS_WITH(load_safetensors(folder / "fifo"), Says("is no regular file"));
}

TEST_CASE("safetensors: a file cut anywhere throws") {
  const TemporaryFolder folder;
  save_safetensors(folder / "whole", {{{"a", zeros({3})}, {"b", ones({2}, f64)}}, {{"k", "v"}}});
  const std::string bytes = bytes_of_file(folder / "whole");
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    INFO(n);
    REQUIRE_THROWS_AS(load_safetensors(folder.write("cut", bytes.substr(0, n))), Error);
  }
}

TEST_CASE("golden: the reference files load") {
  for (const char* name :
       {"ops", "classifier_plain", "classifier_masked", "classifier_positions", "position_marks"}) {
    INFO(name);
    const TensorFile file = load_safetensors(golden(std::string(name) + ".safetensors"));
    CHECK_FALSE(file.tensors.empty());
    CHECK(file.metadata.contains("about"));
  }
}
