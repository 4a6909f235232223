// Random numbers inside kernels.
#include "warpsmith/random.h"
