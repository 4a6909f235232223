"""What works on this machine, what does not, and its remedy: `examination` puts it together, `launch` ends it with one."""
