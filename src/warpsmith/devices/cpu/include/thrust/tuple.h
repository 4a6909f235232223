#pragma once

#include "warpsmith/thrust.h"
