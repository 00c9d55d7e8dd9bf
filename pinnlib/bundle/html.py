"""Markdown and executed notebooks as HTML: formulas are MathML, and nothing is fetched."""

import base64
import mimetypes
from pathlib import Path

from latex2mathml.converter import convert
from nbconvert import HTMLExporter
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

from pinnlib.paths import NOTEBOOKS

# Formulas need a font with mathematical metrics; not every browser finds one by itself.
MATH_FONT = """math { font-family: "Latin Modern Math", "STIX Two Math", "Cambria Math",
       "DejaVu Math TeX Gyre", math; }"""
# JupyterLab's look without the scripts that it would fetch: require.js, widgets, MathJax, Mermaid.
TEMPLATE = f"""{{% extends 'index.html.j2' %}}
{{% block html_head_js %}}{{% endblock %}}
{{% block jupyter_widgets %}}{{% endblock %}}
{{% block html_head_js_mathjax %}}{{% endblock %}}
{{% block html_head_js_mermaidjs %}}{{% endblock %}}
{{% block html_head_css %}}
<style>
.highlight pre {{ white-space: pre-wrap; overflow-wrap: anywhere; }}
{MATH_FONT}
</style>
{{% endblock %}}
"""


class Renderer(IPythonRenderer):
    """Markdown to HTML as nbconvert does it, with formulas as MathML and pictures in the text."""

    def inline_math(self, body: str) -> str:
        if body[0].isspace() or body[-1].isspace():  # "$5 or $6" is not a formula
            return super().inline_math(body)
        return convert(body)

    def block_math(self, body: str) -> str:
        return convert(body, display="block")

    def latex_environment(self, name: str, body: str) -> str:
        return convert(rf"\begin{{{name}}}{body}\end{{{name}}}", display="block")

    def image(self, text: str, url: str, title: str | None = None) -> str:
        """The picture as part of the page; nbconvert itself embeds none from a folder above."""
        if ":" not in url and (NOTEBOOKS / url).is_file():
            url = data_uri(NOTEBOOKS / url)
        return super().image(text, url, title)


def data_uri(path: Path) -> str:
    """A file as the address of itself."""
    kind, _ = mimetypes.guess_type(path.name)
    return f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"


def markdown(source: str) -> str:
    """The HTML of a Markdown text; paths of pictures start from the notebooks."""
    return MarkdownWithMath(renderer=Renderer(escape=False)).render(source)


def page(notebook: Path) -> str:
    """The HTML of a notebook file."""
    exporter = HTMLExporter(raw_template=TEMPLATE, filters={"markdown2html": markdown})
    text, _ = exporter.from_filename(str(notebook))
    return text


def write_page(notebook: Path, folder: Path) -> None:
    """Save the HTML of a notebook file in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{notebook.stem}.html").write_text(page(notebook), encoding="utf-8")
