#pragma once
// printf is NVRTC's own.
