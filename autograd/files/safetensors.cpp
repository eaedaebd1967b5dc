#include "autograd/files/safetensors.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <unordered_set>

#include "autograd/files/file.hpp"
#include "autograd/files/safetensors_header.hpp"

namespace pencil {

using detail::Element;
using detail::FileReader;
using detail::FileWriter;
using detail::Header;
using detail::TensorEntry;

namespace {

constexpr std::uint64_t length_bytes = 8;            // the header's length, before the header
constexpr std::uint64_t header_limit = 100'000'000;  // the format's own

struct NamedElement {
  std::string_view name;
  Element element;
};

// Known but not read: readable() is false, or the width is no whole number of bytes (0 here).
constexpr std::array<NamedElement, 21> elements{{
    {"F32", {Element::Kind::floating, 4}},
    {"F64", {Element::Kind::floating, 8}},
    {"I8", {Element::Kind::whole, 1}},
    {"I16", {Element::Kind::whole, 2}},
    {"I32", {Element::Kind::whole, 4}},
    {"I64", {Element::Kind::whole, 8}},
    {"U8", {Element::Kind::natural, 1}},
    {"U16", {Element::Kind::natural, 2}},
    {"U32", {Element::Kind::natural, 4}},
    {"U64", {Element::Kind::natural, 8}},
    {"BOOL", {Element::Kind::boolean, 1}},
    {"F16", {Element::Kind::floating, 2}},
    {"BF16", {Element::Kind::floating, 2}},
    {"F8_E5M2", {Element::Kind::floating, 1}},
    {"F8_E4M3", {Element::Kind::floating, 1}},
    {"F8_E8M0", {Element::Kind::floating, 1}},
    {"F6_E2M3", {Element::Kind::floating, 0}},
    {"F6_E3M2", {Element::Kind::floating, 0}},
    {"F4", {Element::Kind::floating, 0}},
    {"C64", {Element::Kind::floating, 0}},
    {"F8_E4M3FNUZ", {Element::Kind::floating, 1}},
}};

Element element_of(const TensorEntry& entry, const FileReader& file) {
  const auto found = std::find_if(elements.begin(), elements.end(),
                                  [&](const NamedElement& known) { return known.name == entry.dtype; });
  if (found == elements.end()) file.refuse("tensor '{}' has the unknown dtype '{}'", entry.name, entry.dtype);
  if (!found->element.readable())
    file.refuse("tensor '{}' has dtype {}; F32, F64, BOOL and whole numbers can be read (convert it first)",
                entry.name, entry.dtype);
  return found->element;
}

Shape shape_of(const TensorEntry& entry, const FileReader& file) {
  try {
    return Shape(entry.shape);
  } catch (const Error& error) {
    file.refuse("tensor '{}': {}", entry.name, error.what());
  }
}

Header read_header(FileReader& file, std::uint64_t& data_begin) {
  if (file.size() < length_bytes)
    file.refuse("is {} bytes long; the header's length alone takes {}", file.size(), length_bytes);
  std::uint64_t length = 0;
  file.read(0, &length, length_bytes);
  if (length > header_limit)
    file.refuse("says its header is {} bytes long; the format allows at most {}", length, header_limit);
  if (length > file.size() - length_bytes)
    file.refuse("says its header is {} bytes long, but only {} bytes follow", length,
                file.size() - length_bytes);
  std::string text(length, '\0');
  file.read(length_bytes, text.data(), length);
  data_begin = length_bytes + length;
  try {
    return detail::parse_header(text);
  } catch (const Error& error) {
    file.refuse("{}", error.what());
  }
}

/// Every byte of the data must belong to exactly one tensor.
void check_layout(const Header& header, std::uint64_t data_size, const FileReader& file) {
  std::vector<const TensorEntry*> order;
  for (const TensorEntry& entry : header.entries) {
    if (entry.begin > entry.end)
      file.refuse("tensor '{}' ends at byte {}, before it begins at {}", entry.name, entry.end, entry.begin);
    if (entry.end > data_size)
      file.refuse("tensor '{}' ends at byte {}, but the file's data has only {}", entry.name, entry.end,
                  data_size);
    order.push_back(&entry);
  }
  std::stable_sort(order.begin(), order.end(), [](const TensorEntry* a, const TensorEntry* b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  const TensorEntry* before = nullptr;
  std::uint64_t reached = 0;
  for (const TensorEntry* entry : order) {
    if (entry->begin < reached) {
      const bool alias = entry->begin == before->begin && entry->end == before->end;
      file.refuse("tensors '{}' and '{}' {} (bytes {} to {} and {} to {})", before->name, entry->name,
                  alias ? "share the same bytes" : "overlap", before->begin, before->end, entry->begin,
                  entry->end);
    }
    if (entry->begin > reached)
      file.refuse("bytes {} to {} of the data, before tensor '{}', belong to no tensor", reached,
                  entry->begin, entry->name);
    reached = entry->end;
    before = entry;
  }
  if (reached < data_size)
    file.refuse("{} bytes at its end, behind byte {} of the data, belong to no tensor", data_size - reached,
                reached);
}

}  // namespace

const Tensor* TensorFile::find(std::string_view name) const {
  for (const auto& [known, tensor] : tensors)
    if (known == name) return &tensor;
  return nullptr;
}

const Tensor& TensorFile::at(std::string_view name) const {
  if (const Tensor* tensor = find(name)) return *tensor;
  fail("[safetensors] there is no tensor '{}' among the {} of the file", name, tensors.size());
}

TensorFile load_safetensors(const std::filesystem::path& path) {
  FileReader file(path, "safetensors");
  std::uint64_t data_begin = 0;
  Header header = read_header(file, data_begin);

  struct Plan {
    Shape shape;
    Element element;
  };
  std::vector<Plan> plans;
  for (const TensorEntry& entry : header.entries) {
    const Plan plan{shape_of(entry, file), element_of(entry, file)};
    if (entry.begin <= entry.end) {
      // A shape holds at most 2^62 numbers: 2^65 bytes would wrap, so numbers are compared.
      const std::uint64_t bytes = entry.end - entry.begin;
      const auto width = static_cast<std::uint64_t>(plan.element.bytes);
      if (bytes % width != 0 || bytes / width != static_cast<std::uint64_t>(plan.shape.size()))
        file.refuse(
            "tensor '{}' of shape {} and dtype {} needs {} numbers of {} bytes; the header gives it {} bytes",
            entry.name, plan.shape, entry.dtype, plan.shape.size(), width, bytes);
    }
    plans.push_back(plan);
  }
  check_layout(header, file.size() - data_begin, file);

  TensorFile out;
  out.metadata = std::move(header.metadata);
  for (std::size_t i = 0; i < plans.size(); ++i) {
    TensorEntry& entry = header.entries[i];
    const std::string what = fmt::format("tensor '{}'", entry.name);
    Tensor tensor = read_tensor(file, data_begin + entry.begin, plans[i].shape, plans[i].element, what);
    out.tensors.emplace_back(std::move(entry.name), std::move(tensor));
  }
  return out;
}

void save_safetensors(const std::filesystem::path& path, const TensorFile& file) {
  const auto refuse = [&](std::string_view why) { fail("[safetensors] {}: {}", path.string(), why); };
  Header header;
  header.metadata = file.metadata;
  std::unordered_set<std::string_view> names;
  for (const auto& [name, tensor] : file.tensors) {
    if (name == "__metadata__") refuse("no tensor can be named '__metadata__'");
    if (!names.insert(name).second) refuse(fmt::format("the name '{}' comes twice", name));
    if (!tensor.defined()) refuse(fmt::format("tensor '{}' was never given a value", name));
    const DType dtype = tensor.dtype();
    header.entries.push_back({.name = name,
                              .dtype = dtype == f32   ? "F32"
                                       : dtype == f64 ? "F64"
                                                      : "I32",
                              .shape = {tensor.shape().begin(), tensor.shape().end()}});
  }

  std::vector<std::size_t> order(file.tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_partition(order.begin(), order.end(),
                        [&](std::size_t i) { return file.tensors[i].second.dtype() == f64; });
  std::uint64_t reached = 0;
  for (const std::size_t i : order) {
    const Tensor& tensor = file.tensors[i].second;
    header.entries[i].begin = reached;
    reached += static_cast<std::uint64_t>(tensor.size() * bytes_of(tensor.dtype()));
    header.entries[i].end = reached;
  }

  std::string text;
  try {
    text = header_text(header);
  } catch (const Error& error) {
    refuse(error.what());
  }
  const std::uint64_t length = text.size();
  if (length > header_limit)
    refuse(fmt::format("its header would take {} bytes; the format allows at most {}", length, header_limit));

  detail::write_file(path, "safetensors", [&](FileWriter& writer) {
    writer.write(&length, length_bytes);
    writer.write(text.data(), text.size());
    for (const std::size_t i : order) {
      const Tensor& tensor = file.tensors[i].second;
      dispatch(tensor.dtype(), [&]<class T>(T) {
        const auto values = tensor.values<T>();
        writer.write(values.data(), values.size_bytes());
      });
    }
  });
}

}  // namespace pencil
