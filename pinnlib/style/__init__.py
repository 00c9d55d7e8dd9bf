"""How results look: metric labels, the style of figures, numbers and tables as LaTeX.

labels   names of the metrics, in text and on axes
figures  Matplotlib settings (applied on import), colours and markers of models and gates
latex    escaped text, numbers, macros and tables

Import from the modules. This room imports the core only.
"""
