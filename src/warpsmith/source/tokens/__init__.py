"""What is read off the tokens of a text, before anything is parsed: bracketed lists, names that are used, macros."""
