// printf is in the prelude; files and streams belong to the host.
#pragma once

#include <stddef.h>

typedef struct _IO_FILE FILE;

#define EOF (-1)
