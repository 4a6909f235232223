"""Tiles: how threads fill and read them, which checks of bounds they need, and how the last ones end with the data."""
