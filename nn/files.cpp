#include "nn/files.hpp"

#include <string_view>

namespace pencil::nn {

void save(Module& model, const std::filesystem::path& path,
          const std::map<std::string, std::string>& metadata) {
  TensorFile file;
  for (NamedTensor& each : named_parameters(model))
    file.tensors.emplace_back(std::move(each.name), std::move(each.tensor));
  file.metadata = metadata;
  save_safetensors(path, file);
}

void load(Module& model, const TensorFile& file) {
  std::vector<NamedTensor> tensors;
  for (const auto& [name, tensor] : file.tensors) tensors.push_back({name, tensor});
  load_state(model, tensors);
}

void load(Module& model, const std::filesystem::path& path) {
  const TensorFile file = load_safetensors(path);
  try {
    load(model, file);
  } catch (const Error& error) {
    std::string_view why = error.what();
    why.remove_prefix(why.starts_with("[load] ") ? 7 : 0);
    fail("[load] {}: {}", path.string(), why);
  }
}

}  // namespace pencil::nn
