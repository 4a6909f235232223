"""Neighbouring rows: blocks that work on several of them, stages that join them, rows that stay in registers."""
