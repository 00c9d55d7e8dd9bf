"""An executed notebook as one HTML file: formulas are MathML, and nothing is fetched."""

from pathlib import Path

from latex2mathml.converter import convert
from nbconvert import HTMLExporter
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

# JupyterLab's look without the scripts that it would fetch: require.js, widgets, MathJax, Mermaid.
# Formulas need a font with mathematical metrics; not every browser finds one by itself.
TEMPLATE = """{% extends 'index.html.j2' %}
{% block html_head_js %}{% endblock %}
{% block jupyter_widgets %}{% endblock %}
{% block html_head_js_mathjax %}{% endblock %}
{% block html_head_js_mermaidjs %}{% endblock %}
{% block html_head_css %}
<style>
.highlight pre { white-space: pre-wrap; overflow-wrap: anywhere; }
math { font-family: "Latin Modern Math", "STIX Two Math", "Cambria Math",
       "DejaVu Math TeX Gyre", math; }
</style>
{% endblock %}
"""


class Renderer(IPythonRenderer):
    """Markdown to HTML as nbconvert does it, with formulas as MathML."""

    def inline_math(self, body: str) -> str:
        if body[0].isspace() or body[-1].isspace():  # "$5 or $6" is not a formula
            return super().inline_math(body)
        return convert(body)

    def block_math(self, body: str) -> str:
        return convert(body, display="block")

    def latex_environment(self, name: str, body: str) -> str:
        return convert(rf"\begin{{{name}}}{body}\end{{{name}}}", display="block")


def markdown(source: str) -> str:
    """The HTML of a Markdown text."""
    return MarkdownWithMath(renderer=Renderer(escape=False)).render(source)


def page(notebook: Path) -> str:
    """The HTML of a notebook file."""
    exporter = HTMLExporter(raw_template=TEMPLATE, filters={"markdown2html": markdown})
    text, _ = exporter.from_filename(str(notebook))
    return text
