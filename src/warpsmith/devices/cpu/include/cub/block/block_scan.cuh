#pragma once

#include "warpsmith/cub_scan.h"
