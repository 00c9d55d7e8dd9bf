"""Names of the metrics of a run."""

METRIC_NAMES = {"rel_l2_u": "ReL2E", "max_ae_u": "MaxAE"}  # as the paper abbreviates them
METRIC_LABELS = {  # of an axis
    "rel_l2_u": "relative $L^2$ error",
    "max_ae_u": "maximum absolute error [m, rad]",
}
