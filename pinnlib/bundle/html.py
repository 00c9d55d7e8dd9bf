"""An executed notebook as one HTML file that needs nothing else: formulas are MathML, and nothing is fetched from the network."""

from latex2mathml.converter import convert
from nbconvert import HTMLExporter
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

# JupyterLab's look without the scripts that it would fetch: require.js, widgets, MathJax, Mermaid.
# Formulas need a font with mathematical metrics; most systems have one of these, but not every browser finds it by itself.
TEMPLATE = """{% extends 'index.html.j2' %}
{% block html_head_js %}{% endblock %}
{% block jupyter_widgets %}{% endblock %}
{% block html_head_js_mathjax %}{% endblock %}
{% block html_head_js_mermaidjs %}{% endblock %}
{% block html_head_css %}
<style>.highlight pre { white-space: pre-wrap; overflow-wrap: anywhere; } math { font-family: "Latin Modern Math", "STIX Two Math", "Cambria Math", "DejaVu Math TeX Gyre", math; }</style>
{% endblock %}
"""


class Renderer(IPythonRenderer):
    """Markdown to HTML as nbconvert does it, formulas as MathML."""

    def inline_math(self, body):
        price = body[0].isspace() or body[-1].isspace()  # "$5 or $6" is no formula
        return super().inline_math(body) if price else convert(body)

    def block_math(self, body):
        return convert(body, display="block")

    def latex_environment(self, name, body):
        return convert(rf"\begin{{{name}}}{body}\end{{{name}}}", display="block")


def markdown(source):
    """The HTML of a Markdown text."""
    return MarkdownWithMath(renderer=Renderer(escape=False)).render(source)


def page(notebook):
    """The HTML of the notebook in a file."""
    return HTMLExporter(raw_template=TEMPLATE, filters={"markdown2html": markdown}).from_filename(
        str(notebook)
    )[0]
