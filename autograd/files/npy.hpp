// One array in NumPy's .npy format (numpy.org, "numpy.lib.format").
#pragma once

#include <filesystem>

#include "autograd/tensor.hpp"

namespace pencil {

/// Reads an array written by numpy.save, format versions 1 to 3, either byte order, row- or column-major (the
/// tensor is row-major always). f4 and f8 become f32 and f64; whole numbers of every width and booleans
/// become i32, and a number that does not fit throws, naming the position. Other dtypes (f2, c8, text,
/// objects, records) throw, as does a file that is not exactly as long as its header says.
Tensor load_npy(const std::filesystem::path& path);

}  // namespace pencil
