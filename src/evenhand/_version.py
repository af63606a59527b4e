"""The version of evenhand: what results and journals record."""

__version__ = "0.1.0"
