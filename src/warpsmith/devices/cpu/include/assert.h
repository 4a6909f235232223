// No include guard: NDEBUG may differ at each inclusion.
#include "warpsmith/assert.h"
