"""How pictures and tables stand in a notebook: a picture where it is saved; in a table words to the left, numbers to the right, 20 and not 20.0, and long names break."""

import re

import matplotlib.pyplot as plt
import pandas as pd
from ipykernel.zmqshell import ZMQInteractiveShell as Shell

BREAK = re.compile(
    r"(?<=_)(?=[^<>]*</th>.*</thead>)", re.S
)  # after an underscore in a head: wide tables then fit a narrow window
POWER = re.compile(
    r'<td(?: style="([^"]*)")?(?=>[^<>]{0,20}\de-\d[^<>]{0,10}</td>)'
)  # 2.7e-05 in one piece, but not a sentence around it
CENTRE = ' style="text-align: center;"'
LEFT = ' style="text-align: left;"'  # at every cell: a style sheet would be taken away from a notebook that is not trusted yet


def wordy(values):
    """True if some of the values are text other than a number."""
    said = pd.Series([value for value in values if isinstance(value, str) and value], dtype=object)
    return bool(pd.to_numeric(said, errors="coerce").isna().any())


def whole(values):
    """A column or an index of whole numbers as integers, anything else as it is."""
    if isinstance(values, pd.MultiIndex):
        return values.set_levels([whole(level) for level in values.levels])
    numbers = (
        values.dtype.kind == "f"
        and len(values)
        and values.notna().all()
        and (values % 1 == 0).all()
        and abs(values).max() < 1e9
    )
    return values.astype(int) if numbers else values


def html(frame):
    """The HTML that pandas has for a frame, with its columns of words to the left, groups of columns under the middle of their head, heads that
    break after an underscore, and whole numbers without a point.
    """
    frame = frame.set_axis(whole(frame.index)).set_axis(whole(frame.columns), axis=1)
    for i in range(frame.shape[1]):
        frame.isetitem(i, whole(frame.iloc[:, i]))
    told, most = frame._repr_html_(), pd.get_option("display.max_columns")
    if told is None or most and frame.shape[1] > most:  # columns are left out: it stays as it is
        return told
    columns = [
        *(frame.index.get_level_values(i) for i in range(frame.index.nlevels)),
        *(frame.iloc[:, i] for i in range(frame.shape[1])),
    ]
    left = [
        place for place, values in enumerate(reversed(columns), 1) if wordy(values)
    ]  # from the right: a repeated index has fewer cells

    def align(row):
        head, *cells = re.split(r"(?=<t[hd]\b)", row[0])
        for place in left:
            if place <= len(cells) and "colspan" not in row[0]:
                cells[-place] = cells[-place][:3] + LEFT + cells[-place][3:]
        return head + "".join(cells)

    told = re.sub(r"<tr.*?</tr>", align, told, flags=re.S).replace(' halign="left"', CENTRE)
    return POWER.sub(
        lambda cell: f'<td style="{cell[1] or ""}white-space: nowrap;"', BREAK.sub("<wbr>", told)
    )


def show(figure):
    """Show a figure of pyplot here and now in a notebook: else it would come at the end of the cell, after the table beside it."""
    if Shell.initialized():
        shell = Shell.instance()
        shell.display_pub.publish(*shell.display_formatter.format(figure))
        plt.close(figure)


def words_left():
    """From now on, show frames so in this notebook; elsewhere nothing happens."""
    if Shell.initialized():
        Shell.instance().display_formatter.formatters["text/html"].for_type(pd.DataFrame, html)
