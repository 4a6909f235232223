"""Search on other machines: `machines.py` discovery, on Ray · `station.py` the remote worker.

`parcel.py`, `shipping.py` are what is sent.
"""
