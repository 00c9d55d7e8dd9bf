"""All runs of a setting against k, as a picture whose points can be clicked."""

import ipywidgets as widgets
import numpy as np
from ipympl.backend_nbagg import Canvas, FigureManager
from matplotlib.figure import Figure

from pinnlib.explorer.portrait import against_k
from pinnlib.style.figures import METRICS

SIZE = (8.4, 4.2)  # inches: 840 pixels fit beside an open sidebar
REACH = 15  # pixels: how near to a point a click must be


class Scatter:
    """`box` is the widget; `opened` is called with the RunSpec of the point that is clicked, `changed` when another metric is chosen."""

    def __init__(self, opened, changed):
        self.metric = widgets.Dropdown(
            options=[
                (text.partition(" [")[0].replace("$L^2$", "L²"), name)
                for name, text in METRICS.items()
            ]
        )
        self.metric.observe(changed, "value")
        self.canvas, self.opened, self.frame = (
            Canvas(Figure(figsize=SIZE, dpi=100, layout="constrained")),
            opened,
            None,
        )
        self.canvas.header_visible = self.canvas.footer_visible = self.canvas.toolbar_visible = (
            self.canvas.resizable
        ) = False
        FigureManager(self.canvas, 0)
        self.canvas.mpl_connect("button_press_event", lambda event: self.click(event.x, event.y))
        self.box = widgets.VBox([self.metric, self.canvas])

    def draw(self, frame, chosen):
        """Show the runs of a frame as `RunLibrary.like` gives it, those with the chosen keys ringed."""
        self.canvas.figure.clear()
        axis, self.frame = self.canvas.figure.subplots(), frame
        if len(frame):
            self.frame = against_k(axis, frame, self.metric.value, chosen)
        else:
            axis.set_axis_off()
            axis.text(
                0.5,
                0.5,
                "no finished run of this setting yet",
                ha="center",
                transform=axis.transAxes,
            )
        self.canvas.draw_idle()

    def click(self, x, y):
        """Open the run whose point is nearest to the pixel (x, y), if one is near."""
        if self.frame is not None and len(self.frame):
            points = self.canvas.figure.axes[0].transData.transform(
                self.frame[["x", self.metric.value]]
            )
            distance = np.hypot(*(points - (x, y)).T)
            if distance.min() <= REACH:
                self.opened(self.frame["spec"][distance.argmin()])
