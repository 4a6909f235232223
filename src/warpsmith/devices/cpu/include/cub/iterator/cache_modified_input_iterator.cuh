#pragma once

#include "warpsmith/cub_thread.h"
