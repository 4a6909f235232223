// memcpy, memset and friends are in the prelude.
#pragma once

#include <stddef.h>
