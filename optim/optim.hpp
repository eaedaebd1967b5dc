// Optimizers, schedules and the training loop: all public headers of this folder.
#pragma once

#include "optim/adam.hpp"
#include "optim/fit.hpp"
#include "optim/gradients.hpp"
#include "optim/optimizer.hpp"
#include "optim/schedule.hpp"
#include "optim/sgd.hpp"
