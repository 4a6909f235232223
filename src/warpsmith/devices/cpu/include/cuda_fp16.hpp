#pragma once

#include "warpsmith/half.h"
