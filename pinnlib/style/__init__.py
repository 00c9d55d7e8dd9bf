"""How results look: metric labels, the style of figures, numbers and tables as LaTeX.

labels   names of metrics, gates as formulas, axes of a motion
figures  Matplotlib settings (applied on import), colours and markers of models and gates
latex    escaped text, numbers, macros and tables

Import from the modules. This room imports the core only.
"""
