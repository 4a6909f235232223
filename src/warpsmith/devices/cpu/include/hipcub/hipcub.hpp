// cub under HIP's name.
#pragma once

#include "warpsmith/cub_move.h"

namespace hipcub = cub;
