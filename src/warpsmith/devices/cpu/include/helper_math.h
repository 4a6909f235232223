#pragma once

#include "warpsmith/helper_math.h"
