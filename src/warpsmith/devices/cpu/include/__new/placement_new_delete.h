// Placement new is in the prelude, for host and device; libc++ declares it for the host alone.
#pragma once
