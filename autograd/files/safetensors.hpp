// Tensors by name, in the safetensors format (github.com/huggingface/safetensors, "Format").
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "autograd/tensor.hpp"

namespace pencil {

/// What a safetensors file holds: tensors by name, in the order of the file's header, and free text by key.
struct TensorFile {
  std::vector<std::pair<std::string, Tensor>> tensors;
  std::map<std::string, std::string> metadata;

  /// The tensor of that name, or null.
  const Tensor* find(std::string_view name) const;
  /// The tensor of that name. Throws Error naming it if there is none.
  const Tensor& at(std::string_view name) const;
};

/// Reads a whole file. F32 and F64 become f32 and f64. Whole numbers of every width and BOOL become i32; a
/// number that does not fit throws, naming the tensor and the position. Other dtypes (F16, BF16, …) throw.
///
/// A broken or hostile file throws before anything of the size it claims is allocated. Refused, each for its
/// own reason: a header longer than 100 MB or than the file, or that is no JSON object of the format; names
/// that come twice; sizes that do not fit the shape; tensors that overlap or share their bytes; bytes that
/// belong to no tensor; tensors that reach beyond the file's end.
TensorFile load_safetensors(const std::filesystem::path& path);

/// Writes a file: the header names the tensors in the order given. The same input makes the same bytes.
/// Numbers lie at multiples of their own size (f64 first, then f32 and i32, as the format allows no gaps).
/// The file appears under its name only when it is whole: a failure leaves an older file as it was. Throws
/// Error for a name that comes twice, "__metadata__", text that is no UTF-8, and what the file system
/// refuses.
void save_safetensors(const std::filesystem::path& path, const TensorFile& file);

}  // namespace pencil
