"""The version of this package and of the bridge inside it."""

__version__ = "0.1.0"
