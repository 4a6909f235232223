#pragma once

#include "warpsmith/bfloat16.h"
