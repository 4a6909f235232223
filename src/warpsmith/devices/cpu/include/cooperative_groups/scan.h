#pragma once

#include "warpsmith/cooperative_groups.h"
