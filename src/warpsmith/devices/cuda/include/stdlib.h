#pragma once
// abs, malloc and free are NVRTC's own.
#include <stddef.h>
