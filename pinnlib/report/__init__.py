"""What is particular to this paper: the tables, figures, numbers and claims of the notebooks.

notebook 01  motion
notebook 02  coverage
notebook 03  gate_statistics, gate_comparison (figures), basins, published (07 too), coverage
notebook 04  panels, coverage
notebook 05  kernel_measurements, kernel_figures
notebook 06  gate_rules, gate_figures, own_trajectory, second_order
notebook 07  claims, evidence, findings, identities, disagreements, paper_tables

These modules may import core, runs, analysis and style; only notebooks and tests import them.
"""
