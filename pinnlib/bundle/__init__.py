"""What turns the library into a bundle: command line, pipeline, files with their provenance.

cli parses the options, commands carries them out, pipeline runs the notebooks. output writes the
files of a notebook and their manifest, staleness reads the manifests, committed compares a
rebuild with the committed tables. html and pdf render notebooks and the report.
Notebooks import `pinnlib.bundle.output.Output`; `python -m pinnlib` calls its command line.
This room imports the core and `pinnlib.runs` only.
"""
