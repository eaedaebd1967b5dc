#include "nn/summary.hpp"

#include <algorithm>

#include "autograd/create.hpp"

namespace pencil::nn {

namespace {

struct Row {
  std::string layer, shape, parameters;
};

std::string with_commas(std::int64_t n) {
  if (n < 1000) return std::to_string(n);
  return fmt::format("{},{:03}", with_commas(n / 1000), n % 1000);
}

bool within(std::string_view path, std::string_view module) {
  return path == module || (path.starts_with(module) && path[module.size()] == '.');
}

// The shape of the last step recorded within a module; one that recorded nothing (dropout at the exam) hands
// on its input.
std::string output_shape(const Tape& tape, std::string_view module, std::string_view input) {
  for (int i = tape.size() - 1; i >= 0; --i) {
    const Step step = tape.step(i);
    if (step.kind() == StepKind::op && within(step.path(), module)) return to_string(step.shape());
  }
  return std::string(input);
}

}  // namespace

std::string summary(Module& model, const Shape& input, DType dtype) {
  struct Children : Visitor {
    void module(const std::string& path, Module& child) override {
      if (path.find('.') == std::string::npos) found.emplace_back(path, &child);
    }
    std::vector<std::pair<std::string, Module*>> found;
  } children;
  children.walk(model);
  const std::vector<NamedTensor> all = named_parameters(model);

  const Tape tape;
  (void)model(zeros(input, dtype));

  std::vector<Row> rows = {{"Layer", "Output shape", "Parameters"}};
  std::string shape_so_far = to_string(input);
  for (const auto& [name, child] : children.found) {
    std::int64_t count = 0;
    for (const NamedTensor& each : all)
      if (within(each.name, name)) count += each.tensor.size();
    shape_so_far = output_shape(tape, child->path(), shape_so_far);
    rows.push_back({fmt::format("{} ({})", name, child->kind()), shape_so_far, with_commas(count)});
  }
  std::int64_t total = 0, bytes = 0;
  for (const NamedTensor& each : all) {
    total += each.tensor.size();
    bytes += each.tensor.size() * bytes_of(each.tensor.dtype());
  }

  std::size_t layer = 0, shape = 0;
  for (const Row& row : rows) {
    layer = std::max(layer, row.layer.size());
    shape = std::max(shape, row.shape.size());
  }
  std::string text;
  for (const Row& row : rows)
    text += fmt::format("{:<{}}  {:<{}}  {:>10}\n", row.layer, layer, row.shape, shape, row.parameters);
  const double kilobytes = static_cast<double>(bytes) / 1024.0;
  const std::string size =
      kilobytes < 100 ? fmt::format("{:.2f} KB", kilobytes) : fmt::format("{:.2f} MB", kilobytes / 1024.0);
  return text + fmt::format("Total: {} parameters ({})\n", with_commas(total), size);
}

}  // namespace pencil::nn
