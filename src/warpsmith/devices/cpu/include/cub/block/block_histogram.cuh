#pragma once

#include "warpsmith/cub_block.h"
