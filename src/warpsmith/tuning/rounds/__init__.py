"""The search stage of a run: `stage` opens a bench; `rounds` plans, makes templates and searches them; `direct` rewrites instead.

`agenda` turns an agent's plans into templates, `trials` tries its forms beforehand; `search` asks a strategy, evaluates,
records, tells.
"""
