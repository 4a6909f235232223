"""A page on loopback that shows a run while it works: `state` follows its events, `server` serves them, `page` is what is shown.

One more subscriber to `tuning.events`. It only reads: nothing that a browser sends changes anything.
"""
