"""Translates inline PTX to equivalent C++ for clang: straight-line instructions only."""
