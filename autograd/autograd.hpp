#pragma once

// Everything of autograd/ in one include: tensors, tapes, ops and the printing of them.

#include "autograd/create.hpp"
#include "autograd/format.hpp"
#include "autograd/inspect/dump.hpp"
#include "autograd/inspect/glossary.hpp"
#include "autograd/op.hpp"
#include "autograd/random.hpp"
#include "autograd/tape.hpp"
#include "autograd/tensor.hpp"
