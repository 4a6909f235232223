#pragma once

#include "warpsmith/cub_block.h"
#include "warpsmith/cub_thread.h"
