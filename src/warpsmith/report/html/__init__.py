"""A run as one self-contained HTML file: `document` assembles the sections, one file each.

`facts` is what they are made from; where that comes from is the business of `tuning.afterwards.account`. Nothing is looked up or
measured here.
"""
