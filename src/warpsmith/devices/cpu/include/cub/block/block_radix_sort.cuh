#pragma once

#include "warpsmith/cub_move.h"
