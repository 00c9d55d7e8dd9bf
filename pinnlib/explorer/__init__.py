"""The interactive views of runs: menus and sliders, portraits, all runs of a setting against k.

app       `Explorer`: menus, views and training together
menus     the settings that have a menu, and what each menu offers
runs      the finished runs that the views show
scatter   all runs of a setting against k, clickable
portrait  the figures of single runs of any system (`plot_…`)

Import `Explorer` from here, and figures from `portrait`. This room imports core, runs, analysis
and style.
"""

from pinnlib.explorer.app import Explorer

__all__ = ["Explorer"]
