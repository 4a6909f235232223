// Kernels are launched as they are: no entry is generated.
#pragma once
