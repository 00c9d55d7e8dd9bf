"""What turns the library into a bundle: command line, pipeline, files with their provenance.

cli         parses the options of ./run_all.sh
commands    carries them out
pipeline    runs the notebooks
parameters  checks the parameters of a notebook
output      writes the files of a notebook and their manifest
staleness   finds outputs that are older than their inputs
committed   compares a rebuild with the committed tables
codecheck   the manifest of figures and tables for a certifier
html        a notebook as one HTML file
index       the front page of a build
pdf         the report by latexmk

Notebooks import `pinnlib.bundle.output.Output`; `python -m pinnlib` calls the command line.
This room imports the core and `pinnlib.runs` only.
"""
