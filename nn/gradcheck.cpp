#include "nn/gradcheck.hpp"

namespace pencil::nn {

namespace {

// Where the parameters of a model stand; one that stands in two places is one parameter.
struct Places : Visitor {
  void parameter(const std::string& path, Tensor& place) override {
    std::size_t i = 0;
    while (i < tensors.size() && !same(tensors[i], place)) ++i;
    if (i == tensors.size()) {
      tensors.push_back(place);
      paths.push_back(whole(path));
    }
    places.push_back({&place, i});
  }

  struct Place {
    Tensor* tensor;
    std::size_t parameter;
  };
  std::vector<Place> places;
  std::vector<Tensor> tensors;
  std::vector<std::string> paths;
};

// While it lives the model works with other tensors in place of its parameters.
class InPlaceOf {
 public:
  InPlaceOf(const Places& model, Inputs parameters) : model_(model) { put(parameters); }
  ~InPlaceOf() { put(model_.tensors); }
  InPlaceOf(const InPlaceOf&) = delete;
  InPlaceOf& operator=(const InPlaceOf&) = delete;

 private:
  void put(Inputs tensors) {
    for (const Places::Place& place : model_.places) *place.tensor = tensors[place.parameter];
  }
  const Places& model_;
};

}  // namespace

GradcheckReport gradcheck(Module& model, const Tensor& x, const GradcheckOptions& options) {
  Places found;
  found.walk(model);
  for (std::size_t i = 0; i < found.tensors.size(); ++i)
    if (found.tensors[i].dtype() == f32)
      fail(
          "[gradcheck] parameter '{}' of {} is f32; central differences need f64: make the layers with "
          ".dtype = f64",
          found.paths[i], model.kind());
  GradcheckOptions named = options;
  named.names = {"the input"};
  for (const std::string& path : found.paths) named.names.push_back(fmt::format("parameter '{}'", path));
  std::vector<Tensor> inputs{x};
  inputs.insert(inputs.end(), found.tensors.begin(), found.tensors.end());
  const auto call = [&](Inputs in) {
    const InPlaceOf parameters(found, in.subspan(1));
    return model(in[0]);
  };
  return pencil::gradcheck(std::string(model.kind()), call, inputs, named);
}

GradcheckReport gradgradcheck(Module& model, const Tensor& x, GradcheckOptions options) {
  options.second = true;
  return gradcheck(model, x, options);
}

}  // namespace pencil::nn
