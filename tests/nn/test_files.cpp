#include <filesystem>
#include <string>

#include "autograd/autograd.hpp"
#include "nn/nn.hpp"
#include "tests/catch.hpp"

using namespace pencil;

TEST_CASE("a model saved and loaded has the same numbers and the text beside them") {
  const auto path = std::filesystem::temp_directory_path() / "pencil_test_model.safetensors";
  Rng rng{1};
  nn::Dense layer({.in = 3, .out = 2}, rng), other({.in = 3, .out = 2}, rng);
  nn::save(layer, path, {{"made by", "a test"}});
  nn::load(other, path);
  CHECK(other.weight.to_vector() == layer.weight.to_vector());
  CHECK(load_safetensors(path).metadata.at("made by") == "a test");
  std::filesystem::remove(path);
}

TEST_CASE("a file that does not fit the model is named, once, and changes nothing") {
  const auto path = std::filesystem::temp_directory_path() / "pencil_test_misfit.safetensors";
  Rng rng{1};
  nn::Dense layer({.in = 3, .out = 2}, rng), other({.in = 4, .out = 2}, rng);
  const auto before = other.weight.to_vector();
  nn::save(layer, path);
  CHECK_THROWS_WITH(nn::load(other, path), Says("[load] " + path.string() + ": the tensors do not fit") &&
                                               Says("misshapen: weight is (2, 3) of f32"));
  CHECK(other.weight.to_vector() == before);
  std::filesystem::remove(path);
}
