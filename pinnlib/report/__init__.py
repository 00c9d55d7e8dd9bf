"""What is particular to this paper: the tables, figures, numbers and claims of the notebooks.

00  quickstart           what a gate does, in the words of two runs
01  motion               the motion without a network: its frequencies and its size
    reference_solutions  accuracy of the reference solutions, and the files that hold them
    motion_figures       figures of both
02  coverage             which runs of a study are on record (03, 04 and 10 too), learning curves
03  headline             the main finding: its figure, and the published tests in two sentences
    gate_statistics      tables of the paired statistics, and what they say as sentences
    gate_comparison      figures of one gate against the other
    basins               which solution a seed converges to
    standing_still       the error of standing still beside every summary (04 and 06 too)
    published            the published table of tests beside ours (10 too)
04  panels               the panels of the original: error against stiffness
    panel_answers        what they show: published means, and which gate leads at which k
05  kernel_measurements  the residual kernel along training
    jacobian_profiles    the norm of the residual Jacobian in time, and its closed forms
    residual_decay       which part of the horizon loses its residual first
    kernel_predictors    whether the kernel predicts the winning gate
    error_floors         the errors that the ansatz could represent
    kernel_answers       the answer in sentences, its numbers and small tables
    kernel_figures       figures of these measurements
06  gate_rules           from contrasts to answers, rule by rule (`gate_rules.toml`)
    gate_contrasts       which runs each question compares
    gate_choice          the regrets of ten gates
    gate_optimisers      the gap between the gates under three optimisers
    gate_answers         the answers and their evidence in words and as LaTeX
    gate_figures         figures of the gates and optimisers
    gate_forest          the forest plot of all contrasts
    own_trajectory       errors against the solution with the run's own initial velocity
    second_order         the Levenberg–Marquardt runs
07  loss_rules           from contrasts under several losses to answers (`loss_rules.toml`)
    loss_measurements    the gap between the gates under every loss, and effective weights
    loss_tables          tables of gaps, errors and turned cells
    loss_answers         the answers as sentences
    loss_figures         figures of gaps, errors, weights and the control
08  rate_rules           choices on the tuning seeds, and answers (`rate_rules.toml`)
    tuning               what is chosen on the tuning seeds, and the file that has it
    rate_contrasts       what is compared on the test seeds; the errors of every variant
    rate_answers         the answers as sentences and as LaTeX
    rate_summaries       the short answers, which README, index page and paper quote
    rate_figures         figures of tuning, gaps, decay, forms of the ansatz and the recipe
09  system_rules         other systems and L-BFGS: answers, rule by rule (`system_rules.toml`)
    system_tables        errors, contrasts and verdicts of other systems
    system_answers       these in words
    system_figures       figures of these
    optimiser_answers    L-BFGS after Adam, and what each method costs
    optimiser_figures    figures of these
    phrases              pieces of the sentences of 07, 08 and 09
10  claims               the ledger: claims of the original and questions of ours (`claims.toml`)
    evidence             what the claims are checked against
    findings             statistical and qualitative claims, decided from the runs
    identities           exact claims, by computation in double precision
    questions            our questions and the original's conclusions, from the tables of 06 to 09
    claim_figures        the ledger at a glance
    disagreements        where the original's text and code differ (`disagreements.toml`)
    paper_tables         tables, lists and macros of the report as LaTeX

These modules may import core, runs, analysis and style; only notebooks and tests import them.
"""
