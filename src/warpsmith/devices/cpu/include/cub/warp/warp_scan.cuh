#pragma once

#include "warpsmith/cub.h"
