#pragma once

/// Words to token numbers: everything this folder offers.
#include "nn/text/dictionary.hpp"
#include "nn/text/encode.hpp"
#include "nn/text/padding.hpp"
#include "nn/text/tokenizer.hpp"
#include "nn/text/utf8.hpp"
