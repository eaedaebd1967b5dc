#pragma once

// Layers and models on top of autograd, and words to token numbers.

#include "nn/attention.hpp"
#include "nn/files.hpp"
#include "nn/gradcheck.hpp"
#include "nn/initializers.hpp"
#include "nn/layers.hpp"
#include "nn/module.hpp"
#include "nn/summary.hpp"
