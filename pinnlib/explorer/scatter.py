"""All runs of a setting against k, as a figure whose points can be clicked."""

from collections.abc import Callable, Collection, Sequence

import ipywidgets as widgets
import numpy as np
import pandas as pd
from ipympl.backend_nbagg import Canvas, FigureManager
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pinnlib.explorer.portrait import run_label
from pinnlib.spec import RunSpec
from pinnlib.style.figures import STIFFNESS, log_axis, styles
from pinnlib.style.labels import METRIC_LABELS
from pinnlib.systems import SpringPendulum

SIZE = (8.4, 4.2)  # inches: 840 pixels fit beside an open sidebar
REACH = 15  # pixels: largest distance between a click and its point
BAND = 0.9  # width of the band of one k, relative to the distance between neighbouring k
SEEDS = 0.7  # share of a curve's strip that its seeds occupy
POINTS = {"linestyle": "", "markersize": 3.2, "mew": 0.5, "alpha": 0.6}
CAPTION = (
    "points: single runs, side by side in the band of their k; lines: means over seeds; "
    "ringed: what the other tab shows"
)


class Scatter:
    """The widget `box`: a menu of metrics and the figure.

    `on_open` is called with the RunSpec of a clicked point, `on_change` when the metric changes.
    """

    def __init__(self, on_open: Callable, on_change: Callable):
        self.on_open = on_open
        self.table = None
        options = []
        for name, text in METRIC_LABELS.items():
            options.append((_without_unit(text).replace("$L^2$", "L²"), name))
        self.metric = widgets.Dropdown(options=options)
        self.metric.observe(lambda _: on_change(), "value")
        self.canvas = Canvas(Figure(figsize=SIZE, dpi=100, layout="constrained"))
        for part in ("header_visible", "footer_visible", "toolbar_visible", "resizable"):
            setattr(self.canvas, part, False)
        FigureManager(self.canvas, 0)
        self.canvas.mpl_connect("button_press_event", lambda event: self.click(event.x, event.y))
        self.box = widgets.VBox([self.metric, self.canvas])

    def draw(self, table: pd.DataFrame, ringed: Sequence[RunSpec]) -> None:
        """Show the runs of a table as `RunLibrary.similar` returns it, some of them ringed."""
        self.canvas.figure.clear()
        axis = self.canvas.figure.subplots()
        self.table = table
        if len(table):
            keys = [spec.key for spec in ringed]
            self.table = plot_runs_against_k(axis, table, self.metric.value, keys)
        else:
            text = f"No finished run of {ringed[0].system} with these settings yet."
            axis.text(0.5, 0.5, text, ha="center", transform=axis.transAxes)
            axis.set(xticks=[], yticks=[])
        _label_axes(axis, ringed[0], self.metric.value)
        self.canvas.draw_idle()

    def click(self, x: float, y: float) -> None:
        """Open the run whose point is nearest to the pixel (x, y), if it is within reach."""
        if self.table is None or self.table.empty:
            return
        values = self.table[["x", self.metric.value]]
        points = self.canvas.figure.axes[0].transData.transform(values)
        distance = np.hypot(*(points - (x, y)).T)
        if distance.min() <= REACH:
            self.on_open(self.table["spec"][distance.argmin()])


def plot_runs_against_k(
    axis: Axes, table: pd.DataFrame, metric: str, ringed: Collection[str]
) -> pd.DataFrame:
    """Draw each run as a point and the mean of each cell as a line; `ringed`: keys of runs.

    Returns the table with the column x of the points.
    """
    looks = styles(table["model"].unique(), table["gate"].unique())
    ks = np.unique(table["k"])
    spacing = np.diff(ks).min() if len(ks) > 1 else ks[0] / 2
    table = _with_positions(table, list(looks), BAND * spacing)
    for pair, runs in table.groupby(["model", "gate"], sort=False):
        means = runs.groupby("centre")[metric].mean()
        axis.plot(means.index, means, **looks[pair] | {"marker": None})
        axis.plot(runs["x"], runs[metric], **looks[pair] | POINTS)
        axis.plot([], [], **looks[pair], label=run_label(runs["spec"].iloc[0]))
    chosen = table[table["key"].isin(ringed)]
    axis.plot(chosen["x"], chosen[metric], "o", markersize=9, markerfacecolor="none", color="black")
    for k in ks:
        half = BAND * spacing / 2
        axis.axvspan(k - half, k + half, color="0.96", zorder=0)
    axis.set_xticks(ks)
    log_axis(axis, table[metric].to_numpy(dtype=float))
    columns = min(4, len(looks))
    axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=columns, title=CAPTION)
    return table


def _label_axes(axis, spec, metric):
    """Units are those of the spring-pendulum; another system may have others."""
    x_label, y_label = STIFFNESS, METRIC_LABELS[metric]
    if not isinstance(spec.system_object, SpringPendulum):
        x_label, y_label = "$k$", _without_unit(y_label)
    axis.set(xlabel=x_label, ylabel=y_label)


def _without_unit(label):
    return label.partition(" [")[0]


def _with_positions(table, pairs, width):
    """Add the columns centre and x: each (model, gate) has a strip of the band around its k."""
    strip = width / len(pairs)
    curves = pd.MultiIndex.from_frame(table[["model", "gate"]])
    numbers = pd.MultiIndex.from_tuples(pairs).get_indexer(curves)
    centre = table["k"] + strip * (numbers + 0.5) - width / 2
    seed = table["seed"] / (table["seed"].max() + 1)  # in [0, 1)
    return table.assign(centre=centre, x=centre + SEEDS * strip * (seed - 0.5))
