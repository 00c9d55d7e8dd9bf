"""The interactive views: `from pinnlib.explorer import Explorer`; portraits of runs are in `portrait`."""

from pinnlib.explorer.app import Explorer

__all__ = ["Explorer"]
