#pragma once

#include "warpsmith/cub_move.h"
#include "warpsmith/cub_thread.h"
