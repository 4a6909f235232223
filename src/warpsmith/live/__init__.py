"""The live page of a run on loopback: `state` follows its events, `server` serves them, `page` is the page.

One more subscriber to `tuning.events`. It only reads: nothing that a browser sends changes anything.
"""
