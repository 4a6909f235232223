"""The operations of the command line for coding agents, over the Model Context Protocol (extra `mcp`).

`server` puts the tools together; `tools/` has them by what they are about; `replies` is what they answer, small and typed, with
paths to more. `workspace` decides what may be read and where may be written, `jobs` keeps tuning runs that outlive the server,
`labs` a device ready for the kernel at hand.
"""
