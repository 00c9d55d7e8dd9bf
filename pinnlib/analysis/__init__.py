"""Statistics and numerical analysis of runs; reusable, without knowledge of the studies.

samples              errors of runs by cell (means) and by pair of gates over common seeds
significance         Wilcoxon's test, Holm's correction, the seeds that decide
estimates            means and effect sizes with their intervals
paired               exponential against linear gate: tables of tests and of effect sizes
contrasts            any two variants over common seeds, families of tests, regrets
association          how well a number predicts the winner: the AUC
ntk                  the residual Jacobian and its kernel
levenberg_marquardt  the objective of a run minimised by a second-order method
resumable            a table that grows run by run

Import the modules or their public functions. This room imports the core and `pinnlib.runs` only.
"""
