"""Every checkable claim of the paper: our wording, where it stands, the rule written before looking, and the function that applies it."""

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Callable, NamedTuple

import numpy as np
import pandas as pd
import torch
from torch.autograd.functional import jacobian

from . import stats
from .gates import GATES, check_admissible
from .grids import SIX_K, runs_of, specs_of
from .journal import result_of
from .models import MODELS
from .spec import RunSpec
from .training import initial_parameters

VERDICTS = ("reproduced", "partly", "not reproduced", "not testable")
ROUNDING = 1e-10  # relative: what double precision may leave of an identity
SPECS = {gate: RunSpec(gate=gate, precision="float64") for gate in GATES}  # an untrained adaptive run per gate
softplus = torch.nn.functional.softplus


class NotTestable(Exception):
    """Why a claim cannot be decided from what there is."""


class Finding(NamedTuple):
    verdict: str
    ours: str
    interval: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Claim:
    """One claim; `check` takes the Evidence and gives a Finding, or raises NotTestable."""

    id: str
    kind: str  # exact, semi-quantitative, statistical, qualitative
    where: str  # in the paper
    wording: str
    rule: str
    check: Callable
    published: str = ""


class Evidence:
    """What claims are checked against: the runs of the studies, at most `seeds` seeds of `steps` updates each."""

    def __init__(self, records, seeds=20, steps=5000):
        self.records, self._size = records, {"seeds": seeds, "steps": steps}

    def specs(self, *studies):
        return specs_of(*studies, **self._size)

    def runs(self, *studies):
        return runs_of(self.specs(*studies), self.records)

    @cached_property
    def table(self):
        """Our eight tests beside the published ones."""
        return stats.beside_published(stats.gate_tests(self.runs("table")))

    @cached_property
    def every(self):
        """The test and the median log-ratio at every k of every study."""
        frame = self.runs("main", "no_penalty", "expanded", "as_written")
        sizes = stats.effect_sizes(frame, ks=None, effects=["median_log_ratio"]).drop(columns=["n", "needed"])
        return stats.gate_tests(frame, ks=None).merge(sizes, on=stats.TEST, validate="1:1")

    def cells(self, ks, lambda_ic=(50,), model="adaptive", loss="balanced", metrics=stats.METRICS):
        """The rows of `every` for these cells, all of them complete; else NotTestable, with the counts."""
        rows = self.every.query("k in @ks and lambda_ic in @lambda_ic and model == @model and loss == @loss and metric in @metrics")
        if (rows["note"] != "").any():
            pairs = rows[rows["metric"] == metrics[0]]
            scope = f"{model}: {pairs['n'].sum()} of {pairs['needed'].sum()} pairs of runs are complete"
            raise NotTestable(scope if (pairs["n"] < pairs["needed"]).any() else f"{scope}, but {rows['note'].max()}")
        return rows


def graded(holds, ours, **more):
    """Reproduced if all parts hold, not reproduced if none does, else partly."""
    holds = list(holds)
    return Finding("reproduced" if all(holds) else "partly" if any(holds) else "not reproduced", ours, **more)


def exact(holds, ours):
    return Finding("reproduced" if holds else "not reproduced", ours)


# Exact: by computation, in double precision, at random or initial parameters


def _far(a, b):
    """Largest difference, relative to the largest value."""
    return float(((a - b).abs().max() / b.abs().max()).detach())


def small(value):
    """A rounding error in words that are the same on every machine."""
    return f"< {ROUNDING:.0e}" if value < ROUNDING else f"{value:.0e}"


def _random(size, draw):
    return torch.randn(1, size, generator=torch.Generator().manual_seed(draw), dtype=torch.float64)


def _plain(spec, theta, t):
    """ũ and its ansatz u, each (components, points), in plain operations that can be differentiated in t."""
    weight, bias, raw = (block[0] for block in spec.trunk.blocks(theta, 2).values())
    phase = softplus(raw)[:, None] * t
    free = weight @ torch.cat([phase.sin(), phase.cos()]) + bias[:, None]
    latent = spec.ansatz().start[0] + spec.gating.jet(t).value * free
    return free, torch.stack([spec.dynamics.floor + softplus(latent[0]), latent[1]])


def _slope(y, t):
    """dy/dt, row by row, by automatic differentiation."""
    return torch.stack([torch.autograd.grad(row.sum(), t, create_graph=True)[0] for row in y])


def parameter_counts(_):
    counts = {name: len(initial_parameters(RunSpec(model=name))) for name in MODELS}
    return exact(counts == {"baseline": 33538, "fixed": 130, "adaptive": 162}, ", ".join(f"{n:,} {name}" for name, n in counts.items()))


def frequencies(_):
    start = MODELS["adaptive"]().start
    steps = [np.diff(np.log(band)) for band in (start[:16], start[16:])]
    ends = np.allclose([start[0], start[15], start[16], start[31]], [0.5, 5, 5, 15])
    ok = len(start) == 32 and ends and all(np.ptp(step) < ROUNDING for step in steps)
    features = MODELS["fixed"]().shapes(2)["weight"][1]
    return exact(ok and features == 64, f"{len(start)} frequencies, {len(np.unique(start.round(9)))} of them distinct; D = {features}")


def admissible(_):
    for spec in SPECS.values():
        check_admissible(spec.gating, spec.horizon)  # raises
    slopes = {gate: spec.gating.jet(torch.zeros(1)).first.item() for gate, spec in SPECS.items()}
    return exact(all(slopes.values()), ", ".join(f"slope at 0 of {gate}: {slope:g}" for gate, slope in slopes.items()) + "; no other zero")


def initial_state(_):
    off, least = 0.0, np.inf
    for model, gate, draw in ((m, g, d) for m in MODELS for g in GATES for d in range(5)):
        spec = RunSpec(model=model, gate=gate, precision="float64")
        t, theta = torch.linspace(0, 10, 101, dtype=torch.float64)[None], _random(spec.trunk.size(2), draw)
        off = max(off, *(abs(jet.value[0, 0].item() - u) for jet, u in zip(spec.ansatz().jets(theta, t), spec.initial_position)))
        least = min(least, softplus(spec.ansatz().latent(theta, t).value[0, 0]).min().item())
    return exact(off < ROUNDING and least > 0, f"deviation at t = 0 {small(off)}; smallest r - r_min: {least:.0e}")


def velocities(_):
    off = []
    for draw, spec in enumerate(SPECS.values()):
        t = torch.zeros(1, dtype=torch.float64, requires_grad=True)
        free, state = _plain(spec, _random(spec.trunk.size(2), draw), t)
        factor = torch.stack([torch.sigmoid(spec.ansatz().start[0, 0]), torch.ones(1, dtype=torch.float64)])
        off.append(_far(_slope(state, t), factor * spec.gating.jet(t).first * free))
    return exact(max(off) < ROUNDING, f"relative difference {small(max(off))}")


def sensitivity(_):
    latent, physical = [], []
    for spec in (RunSpec(model=model, gate=gate, precision="float64") for model in MODELS for gate in GATES):
        t, theta, ansatz = torch.linspace(0.5, 10, 5, dtype=torch.float64)[None], initial_parameters(spec), spec.ansatz()
        free = jacobian(lambda p: spec.trunk.jet(spec.trunk.blocks(p[None], 2), t).value[0], theta)
        scaled = spec.gating.jet(t).value[0, :, None] * free
        latent.append(_far(jacobian(lambda p: ansatz.latent(p[None], t).value[0], theta), scaled))
        physical.append(_far(jacobian(lambda p: ansatz.jets(p[None], t)[0].value[0], theta), scaled[0]))
    told = f"latent: relative difference {small(max(latent))}; r itself: {max(physical):.2f}, from the softplus"
    return exact(max(latent) < ROUNDING, told)


def product_rule(_):
    off = []
    for draw, spec in enumerate(SPECS.values()):
        t, theta = torch.linspace(0.1, 10, 40, dtype=torch.float64, requires_grad=True), _random(spec.trunk.size(2), draw)
        g, free = spec.gating.jet(t), spec.trunk.jet(spec.trunk.blocks(theta, 2), t[None])
        twice = _slope(_slope(g.value * _plain(spec, theta, t)[0], t), t)
        off.append(_far(g.value * free.second[0] + 2 * g.first * free.first[0] + g.second * free.value[0], twice))
    return exact(max(off) < ROUNDING, f"relative difference {small(max(off))}")


def _residual(spec, t):
    """theta → e, the residuals of both components at all times (2 points)."""
    ansatz = spec.ansatz()
    return lambda theta: torch.cat([part[0] for part in ansatz.residual(ansatz.jets(theta[None], t[None]))])


def kernel(_):
    t, parts = torch.linspace(0.1, 10, 120, dtype=torch.float64), []  # more residuals than parameters
    for spec in SPECS.values():
        jac = jacobian(_residual(spec, t), initial_parameters(spec))
        K, values = jac @ jac.T, torch.linalg.eigvalsh(jac @ jac.T)
        symmetric, rank = _far(K, K.T), int((values > 1e-10 * values[-1]).sum())
        parts.append((symmetric < ROUNDING and values[0] > -1e-12 * values[-1] and rank <= jac.shape[1], rank, len(K)))
    told = ", ".join(f"{gate}: rank {rank} of {n}" for gate, (_, rank, n) in zip(SPECS, parts))
    return exact(all(ok for ok, *_ in parts), f"{told}; {jac.shape[1]} parameters")


def residual_dynamics(_):
    t, off = torch.linspace(0.2, 10, 50, dtype=torch.float64), []
    for spec in SPECS.values():
        theta, residual = initial_parameters(spec), _residual(spec, t)
        jac, e = jacobian(residual, theta), residual(theta)
        K = jac @ jac.T
        eta = 1e-6 / torch.linalg.eigvalsh(K)[-1]
        off.append(_far((residual(theta - eta * jac.T @ e) - e) / eta, -K @ e))
    return exact(max(off) < 1e-3, f"largest relative difference {max(off):.0e}")


def function_class(_):
    start, t = MODELS["fixed"]().start, torch.linspace(0, 10, 2000, dtype=torch.float64)
    phase = torch.from_numpy(start) * t[:, None]
    trunk = torch.cat([phase.sin(), phase.cos(), torch.ones(len(t), 1)], dim=1)
    spans = {gate: spec.gating.jet(t).value[:, None] * trunk for gate, spec in SPECS.items()}
    left = {}
    for one, other in (("exp", "linear"), ("linear", "exp")):
        target = spans[one] @ _random(20 * trunk.shape[1], 0).view(-1, 20)
        fit = spans[other] @ torch.from_numpy(np.linalg.lstsq(spans[other].numpy(), target.numpy(), rcond=None)[0])
        left[one] = float(((target - fit).norm(dim=0) / target.norm(dim=0)).median())
    told = "; ".join(f"{100 * share:.2g}% of a random {gate} ansatz is out of reach" for gate, share in left.items())
    return graded((share < 1e-6 for share in left.values()), told, reason="the two classes agree only for a trunk of any size")


def jacobian_growth(_):
    t, ratios = torch.linspace(0.1, 10, 100, dtype=torch.float64), {}
    for gate in GATES:
        norms = 0
        for spec in (RunSpec(gate=gate, k=k, seed=seed, precision="float64") for k in (20, 60) for seed in range(3)):
            norms = norms + jacobian(_residual(spec, t), initial_parameters(spec)).view(2, len(t), -1).norm(dim=(0, 2))
        ratios[gate] = float(norms[t > 8].mean() / norms[(t > 2) & (t <= 4)].mean())
    told = ", ".join(f"{gate}: late/early norm {ratio:.2f}" for gate, ratio in ratios.items())
    return graded((ratios["linear"] > 2, 0.75 <= ratios["exp"] <= 1.25), told)


# From the runs


def table_row(evidence, lambda_ic, k, metric):
    row = evidence.table.set_index(["lambda_ic", "k", "metric"]).loc[(lambda_ic, k, metric)]
    if row["note"]:
        raise NotTestable(row["note"])
    inside = ", ".join(f"{gate} {'yes' if row[f'mean_{gate}_inside'] else 'no'}" for gate in ("exp", "linear"))
    interval = ", ".join(f"{gate} {row[f'mean_{gate}_low']:.3f} to {row[f'mean_{gate}_high']:.3f}" for gate in ("exp", "linear"))
    reason = f"published mean inside our interval: {inside}"
    return graded((row["same_winner"], row["same_significance"]), told_row(row), interval=interval, reason=reason)


def outside(table):
    """Which published means lie outside our bootstrap intervals, in words."""
    gates = [(row, gate) for row in table.to_dict("records") for gate in ("exp", "linear")]
    said = "GATE at λ = {lambda_ic:g}, k = {k:g} in {metric} ({mean_GATE_published:.3f}, ours {mean_GATE_low:.3f} to {mean_GATE_high:.3f})"
    return "; ".join(said.replace("GATE", gate).format(**row) for row, gate in gates if row[f"mean_{gate}_inside"] is False) or "none"


def told_row(row, bound=False):
    """A row of the table of tests in one line; `bound`: its p is printed as an upper bound only."""
    sizes = f"{row['mean_exp']:.3f} against {row['mean_linear']:.3f}; share {row['frac_win']:.2f}"
    return f"{row['winner']} wins, {sizes}; p {'< ' * bound}{row['p_holm']:.1e}"


def reversal(evidence):
    rows = evidence.cells((20, 60), (0, 50))
    right = rows["winner"] == rows["k"].map({20: "exp", 60: "linear"})
    return graded(right, f"{right.sum()} of {len(rows)} tests")


def every_seed_at_60(evidence):
    rows = evidence.cells((60,), (0, 50))
    share = rows["frac_win"].where(rows["winner"] == "linear", 1 - rows["frac_win"])
    return graded(share == 1, f"share of seeds won by linear: {share.min():.2f} to {share.max():.2f}")


def often_at_20(evidence):
    rows = evidence.cells((20,), (0, 50))
    share = rows["frac_win"].where(rows["winner"] == "exp", 1 - rows["frac_win"])
    pairs = pd.concat([stats.paired(evidence.runs("table").query("k == 20"), metric) for metric in stats.METRICS])
    quartiles = pairs.groupby(["lambda_ic", "metric"])["log_ratio"].quantile([0.25, 0.75]).unstack()
    spread = np.exp(quartiles[0.75] - quartiles[0.25])
    told = f"share of seeds won by exp {share.min():.2f} to {share.max():.2f}"
    told += f"; quartiles of the ratio apart by a factor {spread.min():.1f} to {spread.max():.1f}"
    return graded(((share > 0.5).all(), (spread > 2).all()), told)


def transitional(evidence):
    wide = np.exp(evidence.cells((20, 30, 50, 60)).pivot(index="metric", columns="k", values="median_log_ratio"))
    low, high = wide[[20, 60]].min(axis=1), wide[[20, 60]].max(axis=1)
    between = [low[m] < wide.loc[m, k] < high[m] for m in wide.index for k in (30, 50)]
    told = "; ".join(f"{m}: " + ", ".join(f"{ratio:.2f} at k={k:g}" for k, ratio in row.items()) for m, row in wide.iterrows())
    return graded(between, f"median ratio linear/exp, {told}")


def crossovers(evidence):
    rows = evidence.cells(tuple(range(60, 140, 10))).sort_values("k")
    by_mean = np.where(rows["mean_linear"] < rows["mean_exp"], "linear", "exp")  # told beside, decides nothing
    count = {"median": _changes(rows["winner"], rows["metric"]), "mean": _changes(pd.Series(by_mean, rows.index), rows["metric"])}
    told = "; ".join(f"by {by}: " + ", ".join(f"{n} in {metric}" for metric, n in found.items()) for by, found in count.items())
    return graded(count["median"] >= 2, f"changes of winner from k=60 to 130, {told}")


def _changes(winners, metrics):
    """How often the winner changes along k, per metric."""
    return winners.groupby(metrics).agg(lambda w: sum(a != b for a, b in zip(w, w[1:])))


def same_without_penalty(evidence):
    wide = evidence.cells(SIX_K, (0, 50)).pivot(index=["k", "metric"], columns="lambda_ic", values="winner")
    same = wide[0] == wide[50]
    verdict = "reproduced" if same.all() else "partly" if same.mean() > 0.5 else "not reproduced"
    return Finding(verdict, f"same winner in {same.sum()} of {len(same)} comparisons")


def baseline_sensitivity(evidence):
    size = {}
    for model in ("baseline", "adaptive"):
        size[model] = evidence.cells(SIX_K, model=model)["median_log_ratio"].abs().groupby(evidence.every["metric"]).median()
    told = "; ".join(f"{model} " + ", ".join(f"{np.exp(v):.2f} ({metric})" for metric, v in sizes.items()) for model, sizes in size.items())
    return graded(size["baseline"] > size["adaptive"], f"typical factor between the gates: {told}")


def _published_rows():
    rule = "reproduced: same winner by median and same significance after Holm at 0.05; partly: one of the two"
    for row in stats.published().itertuples(index=False):
        where, name = "Appendix A.1, table", f"row-{row.lambda_ic}-{row.k}-{row.metric.split('_')[0]}"
        wording = f"λ = {row.lambda_ic}, k = {row.k}, {row.metric}: {row.winner} wins significantly"
        check = partial(table_row, lambda_ic=row.lambda_ic, k=row.k, metric=row.metric)
        yield Claim(name, "statistical", where, wording, rule, check, told_row(row._asdict(), row.p_holm_is_bound))


BOTH = "in all four tests (two λ, two metrics); partly: in some"
IDENTITY = "relative difference below 1e-10 in double precision"
CLAIMS = (
    Claim("parameters", "exact", "Methods", "The three models have as many trainable parameters as stated",
          "all three counts equal", parameter_counts, "33,538 baseline, 130 fixed, 162 adaptive"),
    Claim("frequencies", "exact", "Methods", "32 frequencies, log-spaced in two bands of 16, give 64 features",
          "counts, ends of the bands and equal ratios within them", frequencies, "32 frequencies; D = 64"),
    Claim("gates", "exact", "Methods", "Both gates are admissible",
          "g(0) = 0, non-zero slope there, no zero on a grid of 10,000 points of (0, T]", admissible, "both"),
    Claim("initial-state", "exact", "Methods", "The start is met exactly and r stays above r_min, whatever the parameters",
          "for 5 random draws per model and gate: deviation at 0 below 1e-10, softplus above 0 at 101 times",
          initial_state, "any parameters"),
    Claim("velocities", "exact", "Methods", "The free output at t = 0 is the initial angular velocity; times σ(ρ0) the radial one",
          f"{IDENTITY}, derivative by automatic differentiation, random parameters", velocities, "identity"),
    Claim("sensitivity", "exact", "Section 2.1", "Parameter sensitivities of the gated output are those of the free output times g(t)",
          f"{IDENTITY}, latent variables, all models, initial parameters", sensitivity, "identity"),
    Claim("product-rule", "exact", "Section 2.1", "The second derivative brings in g, g' and g''",
          f"{IDENTITY}, against automatic differentiation, random parameters", product_rule, "identity"),
    Claim("kernel", "exact", "Section 2.1",
          "The residual kernel is symmetric, positive semidefinite and of no higher rank than there are parameters",
          "symmetric to 1e-10, eigenvalues above -1e-12 of the largest, rank counted at 1e-10; 120 times, k = 20, seed 0",
          kernel, "by construction"),
    Claim("dynamics", "exact", "Section 2.1", "Under a small gradient step residuals e change by -K e",
          "relative difference below 1e-3 for a step of 1e-6 over the largest eigenvalue", residual_dynamics, "first order"),
    Claim("function-class", "exact", "Sections 1, 2.1, 4", "The gate does not change the class of functions",
          "with the trunk of 32 fixed frequencies, the least-squares fit of either gate's random ansatz (20 draws, median) "
          "by the other gate's leaves less than 1e-6 of its norm", function_class, "same class"),
    Claim("growth", "semi-quantitative", "Section 2.1",
          "The residual's Jacobian grows with time under the linear gate and saturates under the exponential",
          "norm after t = 8 over norm in (2, 4], initial parameters, k = 20 and 60, three seeds: above 2 (linear), "
          "within 0.75 to 1.25 (exp); partly: one of the two", jacobian_growth, "grows; saturates"),
    *_published_rows(),
    Claim("reversal", "qualitative", "Abstract, Results", "The better gate is exponential at k = 20 and linear at k = 60, in both metrics",
          "winner by median as stated in all eight tests; partly: in some", reversal, "8 of 8 tests"),
    Claim("every-seed", "qualitative", "Results", "At k = 60 the linear gate is better in every seed",
          f"share of seeds won by linear equals 1 {BOTH}", every_seed_at_60, "1.00"),
    Claim("often-exp", "qualitative", "Abstract, Results", "At k = 20 the exponential gate is often better, but seeds are heterogeneous",
          "often: more than half of the seeds in all four tests; heterogeneous: upper and lower quartile of the ratio linear/exp "
          "apart by more than a factor 2 in all four; partly: one of the two", often_at_20, "0.85 to 1.00"),
    Claim("transitional", "qualitative", "Results", "k = 30 and 50 are transitional",
          "λ = 50: the median ratio linear/exp lies strictly between those at k = 20 and 60, for both k and metrics; partly: for some",
          transitional),
    Claim("crossovers", "qualitative", "Results, Appendix A.2", "Several further crossovers between k = 70 and 130",
          "λ = 50: the winner by median changes at least twice from k = 60 to 130 in both metrics; partly: in one", crossovers, "multiple"),
    Claim("no-penalty", "qualitative", "Results", "Without velocity penalty the trends are similar",
          "adaptive model, k = 10 to 60, both metrics: the winner by median is that of λ = 50 everywhere; partly: in more than half",
          same_without_penalty),
    Claim("baseline", "qualitative", "Results, Conclusion", "The baseline is more sensitive to the gate than the adaptive model",
          "λ = 50, k = 10 to 60: the median over k of the absolute median log-ratio is larger for the baseline in both metrics; "
          "partly: in one", baseline_sensitivity),
)  # fmt: skip


def evaluate(evidence, claims=CLAIMS):
    """One row per claim: id, kind, where, wording, rule, published, ours, interval, verdict, reason."""
    rows = []
    for claim in claims:
        try:
            found = claim.check(evidence)
        except NotTestable as why:
            found = Finding("not testable", "", reason=str(why))
        rows.append({name: getattr(claim, name) for name in ("id", "kind", "where", "wording", "rule", "published")} | found._asdict())
    columns = ["id", "kind", "where", "wording", "rule", "published", "ours", "interval", "verdict", "reason"]
    return pd.DataFrame(rows, columns=columns)


def coverage(runs, name):
    """What share of the runs is there, as a clause for the text."""
    done = (runs["status"] == "ok").sum()
    return f"all {done} {name} runs are on record" if done == len(runs) else f"only {done} of the {len(runs)} {name} runs are on record"


# Where text and released code disagree, or the text is silent


def losses(evidence):
    """Adaptive model, per λ, metric and k: winner under both losses, and "exp 2.16*" (median ratio linear/exp) or "12/20" (pairs)."""
    rows = evidence.every.query("model == 'adaptive'")
    star = np.where(rows["p_holm"] < stats.LEVEL, "*", "")
    value = rows["winner"] + np.exp(rows["median_log_ratio"]).map(" {:.2f}".format) + star
    pairs = rows["n"].astype(str) + "/" + rows["needed"].astype(str)
    rows = rows.assign(winner=rows["winner"].where(rows["note"] == ""), text=value.where(rows["winner"] != "", pairs))
    wide = rows.pivot(index=["lambda_ic", "metric", "k"], columns="loss", values=["winner", "text"])
    wide.columns = [f"{name}_{loss}" for name, loss in wide.columns]
    decided = wide["winner_balanced"].notna() & wide["winner_mse"].notna()
    return wide.assign(same=(wide["winner_balanced"] == wide["winner_mse"]).astype("boolean").where(decided)).reset_index()


def winners(table, loss, lambda_ic, metric="rel_l2_u"):
    """Which gate wins where, in words, from `losses`: "exp at k = 10, 20; linear at k = 30; open at k = 40"."""
    part = table.query("lambda_ic == @lambda_ic and metric == @metric").dropna(subset=f"text_{loss}")
    groups = part.groupby(part[f"winner_{loss}"].fillna("open"))["k"]
    return "; ".join(f"{gate} at k = {', '.join(map('{:g}'.format, ks))}" for gate, ks in groups)


def _loss_matters(evidence):
    table = losses(evidence)
    known = table["same"].dropna()
    if not len(known):
        return f"open: of {table['text_balanced'].count()} comparisons none is complete under both losses"
    told = f"another gate wins by median in {(~known).sum()} of {len(known)} comparisons (λ, k, metric) complete under both losses"
    written = stats.beside_published(stats.gate_tests(evidence.runs("as_written")))[["same_winner", "same_significance"]].dropna()
    return f"{told}; of the published rows {written.all(axis=1).sum()} of {len(written)} come out again under the loss of the text"


def _seeding(evidence):
    inside = evidence.table[["mean_exp_inside", "mean_linear_inside"]].stack().dropna()
    return f"not separable from chance; {inside.sum()} of {len(inside)} published means lie inside our 95% intervals"


def _twenty_points(_):
    spec = SPECS["exp"]
    first = spec.ansatz().jets(_random(spec.trunk.size(2), 0), torch.zeros(1, 20, dtype=torch.float64))[1].first[0]
    return f"none: the twenty values differ by {np.ptp(first.numpy()):g}, so that their mean is the value at one point"


def _discrete_norm(evidence):
    """‖e‖/‖u‖ over the grid against the same with the trapezoidal rule, for the runs of seed 0 behind the table."""
    off = []
    for spec in (s for s in evidence.specs("table") if s.seed == 0 and evidence.records.get(s.key, {}).get("status") == "ok"):
        state, truth = result_of(evidence.records[spec.key]).predict(spec.reference.t), spec.reference.q
        angle = state["theta"] - truth[1]
        error = (state["r"] - truth[0]) ** 2 + np.arctan2(np.sin(angle), np.cos(angle)) ** 2
        square = np.array([error, (truth**2).sum(axis=0)])
        (error, size), (error_t, size_t) = square.sum(axis=1), np.trapezoid(square, spec.reference.t, axis=1)
        off.append(abs(np.sqrt(error * size_t / size / error_t) - 1))
    return f"at most {100 * max(off):.2g}% of the error in {len(off)} runs" if off else "open: no run of the table with seed 0 is on record"


class Disagreement(NamedTuple):
    id: str
    kind: str  # contradiction: text and code differ; unsaid: the text is silent
    text: str
    code: str
    ours: str
    consequence: Callable


DISAGREEMENTS = (
    Disagreement("loss", "contradiction", "mean-square residual", "each residual divided by a moving average of its own RMS (balanced)",
                 "both: balanced everywhere, mse as a study of its own", _loss_matters),
    Disagreement("seeding", "contradiction", "gates share random seeds", "the seed is set after the network is built",
                 "seed first: one stream for weights, one for points, the same for both gates", _seeding),
    Disagreement("norm", "contradiction", "integral over time", "discrete norm over the 2000 points", "discrete norm", _discrete_norm),
    Disagreement("ic-points", "unsaid", "20 initial-condition points", "all of them are t = 0", "one point t = 0", _twenty_points),
    Disagreement("initial-state", "unsaid", "not given", "r = 1, θ = 0.2, at rest", "the same",
                 lambda _: "none measured: other starts were not trained"),
    Disagreement("initialisation", "unsaid", "not given", "head N(0, 0.01), bias 0; frequencies as softplus of a free parameter",
                 "the same",
                 lambda _: "none measured: other initialisations were not trained"),
    Disagreement("frequencies", "unsaid", "16 + 16 frequencies", "both bands contain 5.0", "the same", lambda _: frequencies(_).ours),
    Disagreement("kept", "unsaid", "not given", "final parameters, not the best", "the same",
                 lambda _: "none measured: only final parameters are recorded"),
    Disagreement("stiffness", "unsaid", "k elsewhere not listed", "not known to us", "k = 10, 20, ..., 130",
                 lambda evidence: f"{evidence.runs('main', 'no_penalty', 'expanded').shape[0]} runs with our choice of k"),
)  # fmt: skip


def disagreements(evidence):
    """One row per disagreement, with what it was measured to change."""
    return pd.DataFrame([d._asdict() | {"consequence": d.consequence(evidence)} for d in DISAGREEMENTS])
