// The host's.
#pragma once
