// Reading and writing files of numbers: what the formats of this folder share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>

#include "autograd/error.hpp"
#include "autograd/tensor.hpp"

namespace pencil::detail {

/// A regular file open for reading. Every error begins "[format] path: ".
class FileReader {
 public:
  FileReader(const std::filesystem::path& path, const char* format);

  std::uint64_t size() const { return size_; }
  /// Reads exactly `bytes` bytes; throws where the file has grown shorter since it was opened.
  void read(std::uint64_t offset, void* to, std::size_t bytes);

  /// Throws Error: "[format] path: text".
  template <class... Arguments>
  [[noreturn]] void refuse(fmt::format_string<Arguments...> text, Arguments&&... arguments) const {
    throw Error(label_ + fmt::format(text, std::forward<Arguments>(arguments)...));
  }

 private:
  std::ifstream stream_;
  std::uint64_t size_ = 0;
  std::string label_;
};

/// How one number lies in a file.
struct Element {
  enum class Kind : std::uint8_t {
    floating,
    whole,
    natural,
    boolean
  };  // natural: a whole number without sign
  Kind kind;
  int bytes;
  bool swapped = false;       // big-endian
  bool column_major = false;  // the first axis runs fastest
  bool readable() const;      // whether read_tensor knows it
  DType dtype() const;        // f32, f64, and i32 for everything that is not floating
};

/// Reads shape.size() elements from `offset`, which the caller has checked to lie in the file. Floats of four
/// and eight bytes become f32 and f64; everything else becomes i32, and what does not fit there throws an
/// error that names `what` ("tensor 'x'"), the position and the number.
Tensor read_tensor(FileReader& file, std::uint64_t offset, const Shape& shape, const Element& element,
                   std::string_view what);

/// A file being written, see write_file.
class FileWriter {
 public:
  FileWriter(int descriptor, std::string label) : descriptor_(descriptor), label_(std::move(label)) {}
  void write(const void* from, std::size_t bytes);

 private:
  int descriptor_;
  std::string label_;
};

/// Writes a whole file or changes nothing: `fill` writes to a temporary file in the same folder, which is
/// flushed to the disk and then renamed to `path`. A file that is being read under that name stays as it is
/// for its reader. Links are followed; a `path` that exists and is no regular file (a folder, a device)
/// throws.
void write_file(const std::filesystem::path& path, const char* format,
                const std::function<void(FileWriter&)>& fill);

}  // namespace pencil::detail
