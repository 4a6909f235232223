// clock() and the types are in the prelude.
#pragma once

#define CLOCKS_PER_SEC 1000000L
