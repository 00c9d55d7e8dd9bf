"""The interactive views of runs: menus and sliders, portraits, all runs of a setting against k.

Import `Explorer` from here, and the figures of single runs (`plot_…`) from `portrait`. `runs` holds
the finished runs that the views show, `scatter` the clickable figure, `app` the widgets.
This room imports core, runs, analysis and style.
"""

from pinnlib.explorer.app import Explorer

__all__ = ["Explorer"]
