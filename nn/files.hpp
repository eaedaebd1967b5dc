#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "autograd/files/safetensors.hpp"
#include "nn/module.hpp"

namespace pencil::nn {

/// Writes all parameters by their paths, with free text beside them, as one safetensors file. Weights are
/// (out, in), so a PyTorch module with the same attribute names takes the file by
/// `load_state_dict(load_file(path))`. The file appears under its name only when it is whole.
void save(Module& model, const std::filesystem::path& path,
          const std::map<std::string, std::string>& metadata = {});

/// Reads a file into a model's parameters. Throws Error that names the file and lists every missing,
/// unexpected and misshapen name, and then changes nothing.
void load(Module& model, const std::filesystem::path& path);
void load(Module& model, const TensorFile& file);

}  // namespace pencil::nn
