#pragma once

#include "warpsmith/float8.h"
