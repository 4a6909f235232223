"""A kernel's template, with the device as the judge: `templating`, `trial` and `probes` make it, `certify` proves it."""
