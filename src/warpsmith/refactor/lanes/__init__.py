"""A warp's lanes as a loop inside one thread: what differs between lanes, what they exchange, and how that is written."""
