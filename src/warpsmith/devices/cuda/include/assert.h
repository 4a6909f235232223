#pragma once
// assert is NVRTC's own.
