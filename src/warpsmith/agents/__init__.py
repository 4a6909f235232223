"""Agents, which plan the rounds: `rules` is built in; others are found by entry point (`warpsmith.agents`)."""
