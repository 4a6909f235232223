"""Other machines that search for a run: `machines.py` who they are, on Ray · `station.py` what runs there.

`parcel.py`, `shipping.py` are what is sent.
"""
