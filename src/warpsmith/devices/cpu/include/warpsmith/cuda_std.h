// libcu++'s copy of the standard library, by its own name.
#pragma once

#include "warpsmith/std.h"

namespace cuda {
namespace std = ::std;
}
