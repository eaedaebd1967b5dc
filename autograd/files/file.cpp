#include "autograd/files/file.hpp"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <limits>
#include <system_error>
#include <vector>

namespace pencil::detail {

static_assert(std::endian::native == std::endian::little,
              "both formats are read and written in the machine's order");

FileReader::FileReader(const std::filesystem::path& path, const char* format)
    : label_(fmt::format("[{}] {}: ", format, path.string())) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) refuse("there is no such file");
  if (error) refuse("cannot be opened: {}", error.message());
  if (status.type() != std::filesystem::file_type::regular) refuse("is no regular file");
  errno = 0;
  stream_.open(path, std::ios::binary);
  if (!stream_) refuse("cannot be opened: {}", std::generic_category().message(errno));
  const auto end = stream_.seekg(0, std::ios::end).tellg();
  if (!stream_ || end < 0) refuse("its size cannot be found");
  size_ = static_cast<std::uint64_t>(end);
}

void FileReader::read(std::uint64_t offset, void* to, std::size_t bytes) {
  if (bytes == 0) return;
  stream_.seekg(static_cast<std::streamoff>(offset));
  stream_.read(static_cast<char*>(to), static_cast<std::streamsize>(bytes));
  if (!stream_ || stream_.gcount() != static_cast<std::streamsize>(bytes))
    refuse("reading {} bytes at byte {} failed; {} were there", bytes, offset, stream_.gcount());
}

namespace {

/// Calls f(S{}) with the C++ type of an element. False if there is none.
template <class F>
bool with_type(const Element& element, F&& f) {
  const auto pick = [&]<class A, class B, class C, class D>(A a, B b, C c, D d) {
    switch (element.bytes) {
      case 1:
        return f(a), true;
      case 2:
        return f(b), true;
      case 4:
        return f(c), true;
      case 8:
        return f(d), true;
      default:
        return false;
    }
  };
  switch (element.kind) {
    case Element::Kind::floating:
      if (element.bytes == 4) return f(float{}), true;
      if (element.bytes == 8) return f(double{}), true;
      return false;
    case Element::Kind::whole:
      return pick(std::int8_t{}, std::int16_t{}, std::int32_t{}, std::int64_t{});
    case Element::Kind::natural:
      return pick(std::uint8_t{}, std::uint16_t{}, std::uint32_t{}, std::uint64_t{});
    case Element::Kind::boolean:
      if (element.bytes == 1) return f(bool{}), true;
      return false;
  }
  return false;
}

/// "[1, 2]": the indices of the number that stands at place `at` in the file.
std::string position(std::int64_t at, const Shape& shape, bool column_major) {
  std::vector<std::int64_t> indices(static_cast<std::size_t>(shape.rank()));
  for (int i = 0; i < shape.rank(); ++i) {
    const int axis = column_major ? i : shape.rank() - 1 - i;
    indices[static_cast<std::size_t>(axis)] = at % shape[axis];
    at /= shape[axis];
  }
  return fmt::format("[{}]", fmt::join(indices, ", "));
}

/// Fills `out` (row-major) with numbers that lie in column-major order.
template <class T>
void reorder(std::span<const T> numbers, const Shape& shape, std::span<T> out) {
  std::array<std::size_t, Shape::max_rank> stride{}, index{};
  std::size_t product = 1;
  for (std::size_t i = static_cast<std::size_t>(shape.rank()); i-- > 0;) {
    stride[i] = product;
    product *= static_cast<std::size_t>(shape.sizes()[i]);
  }
  std::size_t to = 0;
  for (const T number : numbers) {
    out[to] = number;
    for (std::size_t axis = 0; axis < shape.sizes().size(); ++axis) {  // the first axis runs fastest
      to += stride[axis];
      if (++index[axis] < static_cast<std::size_t>(shape.sizes()[axis])) break;
      to -= stride[axis] * index[axis];
      index[axis] = 0;
    }
  }
}

struct Source {
  FileReader& file;
  std::uint64_t offset;
  const Shape& shape;
  const Element& element;
  std::string_view what;

  /// Elements of type S become numbers of type T, in the order of the file.
  template <class S, class T>
  void convert(std::span<T> out) const {
    std::array<unsigned char, 1 << 16> buffer;
    constexpr std::size_t most = buffer.size() / sizeof(S);
    for (std::size_t done = 0; done < out.size();) {
      const std::size_t n = std::min(most, out.size() - done);
      file.read(offset + done * sizeof(S), buffer.data(), n * sizeof(S));
      for (std::size_t i = 0; i < n; ++i) {
        unsigned char* const bytes = buffer.data() + i * sizeof(S);
        if (element.swapped) std::reverse(bytes, bytes + sizeof(S));
        out[done + i] = number<S, T>(bytes, done + i);
      }
      done += n;
    }
  }

  template <class S, class T>
  T number(const unsigned char* bytes, std::size_t at) const {
    if constexpr (std::is_same_v<S, bool>) {
      if (*bytes > 1) misfit(at, *bytes, "is neither 0 (false) nor 1 (true)");
      return *bytes;
    } else {
      S value;
      std::memcpy(&value, bytes, sizeof value);
      if constexpr (std::is_integral_v<S>)
        if (!std::in_range<std::int32_t>(value))
          misfit(at, value, "does not fit into i32 (-2147483648 to 2147483647)");
      return static_cast<T>(value);
    }
  }

  template <class S>
  [[noreturn]] void misfit(std::size_t at, S value, std::string_view why) const {
    file.refuse("{}: the number {} at position {} {}", what, value,
                position(static_cast<std::int64_t>(at), shape, element.column_major), why);
  }
};

}  // namespace

bool Element::readable() const {
  return with_type(*this, [](auto) {});
}

DType Element::dtype() const { return kind != Kind::floating ? i32 : bytes == 8 ? f64 : f32; }

Tensor read_tensor(FileReader& file, std::uint64_t offset, const Shape& shape, const Element& element,
                   std::string_view what) {
  Tensor out = empty(shape, element.dtype());
  const Source source{file, offset, shape, element, what};
  with_type(element, [&]<class S>(S) {
    using T = std::conditional_t<std::is_floating_point_v<S>, S, std::int32_t>;
    const std::span<T> numbers = out.writable<T>();
    if (element.column_major && shape.rank() > 1) {
      std::vector<T> columns(numbers.size());
      source.convert<S, T>(columns);
      reorder<T>(columns, shape, numbers);
    } else if (std::is_same_v<S, T> && !element.swapped) {
      file.read(offset, numbers.data(), numbers.size_bytes());
    } else {
      source.convert<S, T>(numbers);
    }
  });
  return out;
}

namespace {

[[noreturn]] void refuse_write(const std::string& label, const char* what) {
  throw Error(fmt::format("{}{}: {}", label, what, std::generic_category().message(errno)));
}

/// A temporary file beside its target: unlinked unless renamed.
class Temporary {
 public:
  Temporary(const std::filesystem::path& target, const std::string& label) : label_(label) {
    static std::atomic<unsigned> count{0};
    do {
      path_ = target.string() + fmt::format(".{}-{}.part", ::getpid(), count++);
      descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (descriptor_ < 0 && errno == EEXIST);
    if (descriptor_ < 0) refuse_write(label_, "no file can be made in its folder");
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!path_.empty()) ::unlink(path_.c_str());
  }

  int descriptor() const { return descriptor_; }

  void rename_to(const std::filesystem::path& target) {
    if (::fsync(descriptor_) != 0) refuse_write(label_, "flushing it failed");
    const int descriptor = descriptor_;
    descriptor_ = -1;
    if (::close(descriptor) != 0) refuse_write(label_, "closing it failed");
    if (::rename(path_.c_str(), target.c_str()) != 0)
      refuse_write(label_, "renaming the finished file failed");
    path_.clear();
  }

 private:
  const std::string& label_;
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace

void FileWriter::write(const void* from, std::size_t bytes) {
  const char* at = static_cast<const char*>(from);
  while (bytes > 0) {
    const ::ssize_t written = ::write(descriptor_, at, std::min(bytes, std::size_t{1} << 30));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) refuse_write(label_, "writing failed");
    at += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

void write_file(const std::filesystem::path& path, const char* format,
                const std::function<void(FileWriter&)>& fill) {
  const std::string label = fmt::format("[{}] {}: ", format, path.string());
  std::filesystem::path target = path;
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (std::filesystem::exists(status)) {
    if (!std::filesystem::is_regular_file(status))
      throw Error(label + "is no regular file, so it is not written over");
    target = std::filesystem::canonical(path, error);
    if (error) throw Error(fmt::format("{}cannot be resolved: {}", label, error.message()));
  }
  Temporary temporary(target, label);
  FileWriter writer(temporary.descriptor(), label);
  fill(writer);
  temporary.rename_to(target);
  // The new name must reach the disk too. Some file systems cannot flush a folder; the file itself is safe
  // then.
  const std::filesystem::path folder = target.has_parent_path() ? target.parent_path() : ".";
  if (const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); descriptor >= 0) {
    ::fsync(descriptor);
    ::close(descriptor);
  }
}

}  // namespace pencil::detail
