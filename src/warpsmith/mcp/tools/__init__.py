"""The tools by what they are about. A tool is a method whose docstring tells a client when to use it."""
