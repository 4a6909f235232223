"""A run as one HTML file that needs nothing else: `document` puts the sections together, each of which is a file here.

`facts` is what they are made from; where that comes from is the business of `tuning.afterwards.account`. Nothing is looked up or
measured here.
"""
