"""Reading what others wrote, in a worker with a deadline and a memory limit: what hangs it or fills it costs that text only.

`jobs` is what is asked, `worker` answers, `reader` asks.
"""
