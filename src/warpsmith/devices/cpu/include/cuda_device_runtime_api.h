// All of it is in the prelude already.
#pragma once
