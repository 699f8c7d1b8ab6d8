"""The tables of marketplace_offline.py: routine and randomized traffic, balance, truth beside
estimates, targets met or missed.
"""

from typing import Any

import numpy as np
from scipy.stats import kendalltau

from marketplace_learned import METHODS, OURS, Size
from runner import Figures, describe, markdown

WANTED_TAU, NOMINAL = 0.6, 0.93
TITLES = METHODS | {"hold": "_hold_", "oracle": "_oracle_", "permuted": "_permuted gains_"}
RIVALS = tuple(name for name in METHODS if name not in OURS)
PAPER = {
    "realloc": (
        ".028 [.021, .036]",
        ".512",
        ".023",
        ".000 @ .31",
        ".025 [.012, .043]",
        ".33",
        ".069",
        ".098",
    ),
    "without_support": (
        ".028 [.021, .036]",
        ".512",
        ".023",
        ".678 @ .32",
        "−.021",
        ".96",
        "−.021",
        "−.040",
    ),
    "s_nn_local": (
        ".010 [.000, .019]",
        ".507",
        ".012",
        ".675 @ .31",
        "−.019",
        ".97",
        "−.020",
        "−.025",
    ),
    "teacher_only": (
        ".017 [.009, .024]",
        ".509",
        ".011",
        ".663 @ .27",
        "−.019",
        ".92",
        "−.021",
        "−.024",
    ),
    "context_only": (
        ".019 [.007, .025]",
        ".506",
        ".007",
        ".696 @ .33",
        "−.015",
        ".97",
        "−.015",
        "−.022",
    ),
    "vcnet": (
        ".029 [.021, .039]",
        ".514",
        ".026",
        ".660 @ .34",
        ".022",
        ".98",
        ".023",
        ".073",
    ),
    "giks": (
        ".026 [.018, .035]",
        ".513",
        ".023",
        ".657 @ .33",
        ".022",
        ".98",
        ".022",
        ".070",
    ),
    "additive_roi": (
        ".031 [.022, .040]",
        ".516",
        ".029",
        ".575 @ .34",
        ".023",
        ".97",
        ".024",
        ".078",
    ),
}
ABOUT = """Marketplace of seed {world}, {channels} channels: {items:,} items × {days} days; days
0–{last} for learning, days {split}–{end} for evaluation. All methods learned the same {rows:,} rows
(all early days of {learned:,} items, {explored:.0%} of the rows under exploration), {how};
evaluation uses all items. Half of the explored items was learned by nobody: values rest on it. On
randomized rows a method picks from the row's menu (hold; 2, 5 or 10 points either way) the arm with
its largest score: ReAlloc the conservative gain among arms that support and threshold let through,
without support the same without the support rule, level .98 with a support that holds 98 % of the
logged moves instead of 95 (which also judges its violations), all others their predicted gain and
nothing else. Italics and “true” columns need the oracle."""
Cells = dict[str, Figures]


def to_markdown(cells: Cells, size: Size) -> str:
    """All tables, as far as their cells are there."""
    lines = ["# Offline evaluation on the marketplace", "", describe(cells), ""]
    learned = [cell for key, cell in cells.items() if key.startswith("learn/")]
    if learned:
        one = learned[0]
        text = ABOUT.format(
            **vars(size) | {"rows": one["learned_rows"]},
            how="with public defaults" if size.whole else "in a hurry",
            last=size.split - 1,
            end=size.days - 1,
            learned=one["learned_items"],
            explored=one["learned_explored"],
        )
        lines += [text.replace("\n", " "), ""]
    for part in (routine, halves, balance, randomized, pooled, decisions, bars):
        lines += part(cells)
    return "\n".join(lines)


def routine(cells: Cells) -> list[str]:
    """The paper's left half."""
    cell = cells.get("replay/all")
    if cell is None or "refused" in cell:
        return (
            []
            if cell is None
            else ["## A. Routine traffic: matched replay", "", cell["refused"], ""]
        )
    rows = []
    for name, found in cell["methods"].items():
        if "rho_gain" not in found:
            rows.append([TITLES[name], found["verdict"], *[""] * 7])
            continue
        own = cells.get(f"learn/{name}")
        safe = (
            f"{number(own['violation'][0])} @ {number(own['update_rate'][0], 2)}"
            if own
            else "–"
        )
        rows.append(
            [
                TITLES[name],
                span(found["rho_gain"]),
                span(found["rho_score"]),
                number(found["within_unit_concordance"][0]),
                span(found["aligned_gap"]),
                safe,
                number(own.get("beyond_legacy", float("nan"))) if own else "–",
                f"**{number(found['true_rho'])}**",
                " · ".join(PAPER[name][:4]) if name in PAPER else "",
            ]
        )
    head = [
        "routine traffic",
        "ρ(G, R)",
        "ρ(S, R)",
        "within-item conc.",
        "A–R gap",
        "supp. viol. @ update rate",
    ]
    head += [
        "true: beyond legacy's reach",
        "true ρ(G, τ)",
        "paper: ρ, conc., gap, viol. @ upd.",
    ]
    first = next(found for found in cell["methods"].values() if "rho_gain" in found)
    ceiling = first.get("noise_ceiling")
    known = f"estimated {span(ceiling)}" if ceiling else "not estimated by these events"
    text = (
        f"{cell['events']:,} matched legacy moves of {cell['items']:,} items. {cell['matching']} "
        f"Noise ceiling ρ*: {known}; sd "
        f"of the true effects {number(cell['effect_sd'], 4)}, of R "
        f"{number(first['response_sd'][0], 4)}. Mean R of moves "
        f"{span(first['mean_response'])}, of placebos {span(first['mean_placebo_response'])}. "
        "Support violation and update rate: "
        "a method's own best ends within the movement budget for every routine item on the first "
        "day of evaluation, judged by "
        "one learned support for all."
    )
    notes = [f"* {note}" for note in cell["notes"]]
    return [
        "## A. Routine traffic: matched replay",
        "",
        text,
        "",
        *notes,
        "",
        *markdown(head, rows),
    ]


def halves(cells: Cells) -> list[str]:
    """ρ of both halves of the items, and how replay and truth order the methods."""
    there = {half: cells.get(f"replay/{half}", {}) for half in ("all", "first", "second")}
    found = {half: cell for half, cell in there.items() if "methods" in cell}
    if not found:
        return []
    names = next(iter(found.values()))["methods"]
    rows = []
    for name in names:
        row = [TITLES[name]]
        for cell in found.values():
            one = cell["methods"][name]
            row.append(
                f"{span(one['rho_gain'])} (true {number(one['true_rho'])})"
                if "rho_gain" in one
                else "–"
            )
        rows.append(row)
    head = [
        "ρ(G, R) by items",
        *(f"{half}, {cell['events']:,} events" for half, cell in found.items()),
    ]
    lines = ["**Both halves of the routine items**", "", *markdown(head, rows)]
    said = [
        f"{half} {number(cell['agreement']['tau'], 2)} [{number(cell['agreement']['low'], 2)}, "
        f"{number(cell['agreement']['high'], 2)}], at least {WANTED_TAU} in "
        f"{cell['agreement']['reaches']:.0%} of draws"
        for half, cell in found.items()
        if cell["agreement"]
    ]
    if said:
        lines += [
            "Kendall's τ of ρ(G, R) and true ρ(G, τ) over methods that rank differently: "
            f"{'; '.join(said)}.",
            "",
        ]
    return lines


def balance(cells: Cells) -> list[str]:
    """Before and after matching."""
    cell = cells.get("replay/all")
    if cell is None or "refused" in cell:
        return []
    rows = [
        [name, number(before), number(after)]
        for name, (before, after) in cell["balance"].items()
    ]
    worst = [max(abs(pair[i]) for pair in cell["balance"].values()) for i in (0, 1)]
    rows.append(["**largest**", *(number(value) for value in worst)])
    return ["## Balance", "", *markdown(["covariate", "SMD before", "SMD after"], rows)]


def randomized(cells: Cells) -> list[str]:
    """The paper's right half, on the log's own held-out exploration."""
    cell = cells.get("value/0")
    if cell is None:
        return []
    rows = []
    for name, found in cell["methods"].items():
        true = found["truth"]
        rows.append(
            [
                TITLES[name],
                span(found["dr_lift"]),
                f"**{number(true['dr_lift'], 4)}**",
                told(found),
                number(found["action_rate"][0], 2),
                f"{number(found['lift_per_action'][0])} ({number(true.get('lift_per_action'))})",
                f"{number(found['lift_over_hold_per_action'][0])} "
                f"({number(true.get('lift_over_hold_per_action'))})",
                f"{span(found['agreement'])} ({number(true.get('agreement'))})",
                number(true.get("harmed"), 2),
                " · ".join(PAPER[name][4:]) if name in PAPER else "",
            ]
        )
    head = [
        "randomized traffic",
        "DR lift",
        "true lift",
        "interval holds it",
        "action rate",
        "lift / act. (true)",
    ]
    head += [
        "over hold, / act. (true)",
        "agreement lift (true)",
        "true: harmed",
        "paper: lift, rate, lift/act., agreement",
    ]
    text = (
        f"{cell['rows']:,} rows of {cell['items']:,} explored items that nobody learned from. "
        "Lifts are over the logging policy, "
        f"whose draws are truly worth {number(cell['logging'], 4)} a row against holding: a policy "
        "that always holds has that "
        "lift already."
    )
    return [
        "## B. Randomized traffic: doubly robust value",
        "",
        text,
        "",
        *markdown(head, rows),
    ]


def pooled(cells: Cells) -> list[str]:
    """All sets together: values at the paper's size, and how often intervals hold the truth."""
    sets = [cells[key] for key in cells if key.startswith("value/")]
    if len(sets) < 2:
        return []
    rows = []
    for name in sets[0]["methods"]:
        lift, over = (
            together(sets, name, figure) for figure in ("dr_lift", "dr_lift_over_hold")
        )
        acts = float(
            np.mean([one["methods"][name]["truth"]["action_rate"] for one in sets])
        )
        held = [yes for one in sets if (yes := holds(one["methods"][name])) is not None]
        per_act = (
            [lift[0] / acts, over[0] / acts, lift[3] / acts, over[3] / acts]
            if acts
            else [float("nan")] * 4
        )
        gains = [
            span(lift),
            f"**{number(lift[3], 4)}**",
            span(over),
            f"**{number(over[3], 4)}**",
            number(acts, 2),
        ]
        per = [f"{number(per_act[i])} ({number(per_act[i + 2])})" for i in (0, 1)]
        rows.append([TITLES[name], *gains, *per, f"{sum(held)} of {len(held)}"])
    head = [
        "all sets",
        "DR lift",
        "true",
        "DR lift over hold",
        "true",
        "action rate",
        "lift / act. (true)",
    ]
    head += ["over hold, / act. (true)", "intervals that hold the truth"]
    taus = [kendall_of_pool([one]) for one in sets]
    text = (
        f"The held-out items and {len(sets) - 1} sets of fresh explored items of the same market, "
        f"{sum(one['rows'] for one in sets):,} rows of {sum(one['items'] for one in sets):,} items "
        "in all (the paper has 50,000 "
        "explored items). Kendall's τ of DR lift and true lift over all methods: "
        f"{number(taus[0], 2)} on the log's own "
        f"items, {number(float(np.mean(taus)), 2)} on average over sets, "
        f"{number(kendall_of_pool(sets), 2)} of the pooled values."
    )
    return ["**At the paper's size**", "", text, "", *markdown(head, rows)]


def decisions(cells: Cells) -> list[str]:
    """What methods would really do, by the truth."""
    rows = []
    for name, title in METHODS.items():
        cell = cells.get(f"learn/{name}")
        if cell is not None:
            figures = (
                "moved_share",
                "true_gain",
                "true_gain_per_move",
                "promised",
                "harmed",
                "beyond_legacy",
            )
            shown = [number(cell.get(figure), 4) for figure in figures]
            rows.append(
                [
                    title,
                    span(cell["update_rate"]),
                    span(cell["violation"]),
                    *shown,
                    f"{cell['seconds']:.0f}",
                ]
            )
    if not rows:
        return []
    head = [
        "own decisions",
        "update rate",
        "support violation",
        "moved share",
        "true gain a row",
        "… a move",
        "promised a row",
    ]
    head += ["harmed", "beyond legacy's reach", "CPU s"]
    return ["## Own decisions by the truth", "", *markdown(head, rows)]


def bars(cells: Cells) -> list[str]:
    """Met or missed, with the figure."""
    rows: list[list[str]] = []
    free = cells.get("learn/without_support")
    for name in OURS[:2]:
        ours = cells.get(f"learn/{name}")
        if ours and free:
            violation, rate, unbound = (
                ours["violation"][0],
                ours["update_rate"][0],
                free["update_rate"][0],
            )
            near = unbound > 0 and abs(rate - unbound) <= unbound / 3
            said = f"{number(violation)} at {number(rate, 2)}; "
            said += (
                f"without support {number(free['violation'][0])} at {number(unbound, 2)}"
            )
            what = (
                f"{TITLES[name]}: support violation 0, update rate within a third of the "
                "unconstrained"
            )
            rows.append([what, said, met(violation == 0 and near)])
    sets = [cells[key] for key in cells if key.startswith("value/")]
    for name in OURS[:2]:
        if sets:
            rows += value_bars(name, "the log's own explored items", sets[:1])
            rows += value_bars(name, "all sets", sets) if len(sets) > 1 else []
    if sets:
        rows.append(held_bar(sets))
    cell = cells.get("replay/all")
    if cell and cell.get("agreement"):
        tau = cell["agreement"]["tau"]
        rows.append(
            [
                f"replay ranks methods with Kendall τ ≥ {WANTED_TAU} (true ρ)",
                number(tau, 2),
                met(tau >= WANTED_TAU),
            ]
        )
        value_tau = kendall_of_replay_and_value(cell, sets)
        if np.isfinite(value_tau):
            rows.append(
                [
                    "the same against the true value of the picks",
                    number(value_tau, 2),
                    met(value_tau >= WANTED_TAU),
                ]
            )
    return ["## Targets", "", *markdown(["target", "figure", ""], rows)] if rows else []


def value_bars(ours: str, where: str, sets: list[Figures]) -> list[list[str]]:
    """Lift highest and above 0, few actions, much per action."""
    names = [name for name in METHODS if name in sets[0]["methods"]]
    lifts = {name: together(sets, name, "dr_lift") for name in names}
    acts = {
        name: float(np.mean([one["methods"][name]["truth"]["action_rate"] for one in sets]))
        for name in names
    }
    if ours not in lifts:
        return []
    mine, title = lifts[ours], TITLES[ours]
    others = [name for name in names if name in RIVALS]
    best, true_best = (max(others, key=lambda name: lifts[name][i]) for i in (0, 3))
    truly = f"{TITLES[true_best]} {number(lifts[true_best][3], 4)}"
    rivals = f"best rival {TITLES[best]} {span(lifts[best])}, by the truth {truly}"
    above = mine[1] > 0
    free = lifts["without_support"]
    per_act = {name: lifts[name][0] / acts[name] for name in names if acts[name]}
    rival = max((per_act[name] for name in RIVALS if name in per_act), default=float("nan"))
    own = per_act.get(ours, float("nan"))
    return [
        [
            f"{title}: DR lift above every rival's, interval above 0 ({where})",
            f"{span(mine)}, truly {number(mine[3], 4)}; {rivals}",
            met(mine[0] > lifts[best][0] and above),
        ],
        [
            f"{title}: … above the variant without support, too ({where})",
            f"without support {span(free)}, truly {number(free[3], 4)}",
            met(mine[0] > free[0] and above),
        ],
        [
            f"{title}: action rate ≤ .5 ({where})",
            number(acts[ours], 2),
            met(acts[ours] <= 0.5),
        ],
        [
            f"{title}: lift per action ≥ 2 × the best baseline's ({where})",
            f"{number(own, 4)} against {number(rival, 4)}",
            met(own >= 2 * rival),
        ],
    ]


def held_bar(sets: list[Figures]) -> list[str]:
    """Truth inside intervals, over all sets and methods."""
    names = [name for name in METHODS if name in sets[0]["methods"]]
    held = [
        yes
        for one in sets
        for name in names
        if (yes := holds(one["methods"][name])) is not None
    ]
    return [
        "truth inside 95 % intervals (all sets and methods)",
        f"{sum(held)} of {len(held)}",
        met(sum(held) >= NOMINAL * len(held) > 0),
    ]


def together(sets: list[Figures], name: str, figure: str) -> list[float]:
    """Value, low, high and truth of a figure over independent sets, weighted by their rows."""
    found = [one["methods"][name] for one in sets]
    weight = np.array([one["rows"] for one in sets], dtype=np.float64)
    weight /= weight.sum()
    value = float(weight @ [one[figure][0] for one in found])
    half = float(
        np.sqrt(
            np.square(weight)
            @ np.square([(one[figure][2] - one[figure][1]) / 2 for one in found])
        )
    )
    return [
        value,
        value - half,
        value + half,
        float(weight @ [one["truth"][figure] for one in found]),
    ]


def kendall_of_pool(sets: list[Figures]) -> float:
    """Over all methods: pooled DR lifts and truths."""
    pairs = [
        together(sets, name, "dr_lift") for name in METHODS if name in sets[0]["methods"]
    ]
    return float(kendalltau([pair[0] for pair in pairs], [pair[3] for pair in pairs])[0])


def kendall_of_replay_and_value(cell: Figures, sets: list[Figures]) -> float:
    """ρ(G, R) against the true worth of the arms that methods pick."""
    names = [name for name in METHODS if "rho_gain" in cell["methods"].get(name, {})]
    if not sets or len(names) < 2:
        return float("nan")
    true = [together(sets, name, "dr_lift")[3] for name in names]
    return float(
        kendalltau([cell["methods"][name]["rho_gain"][0] for name in names], true)[0]
    )


def holds(found: Figures) -> bool | None:
    """Whether the interval of the lift holds the truth; None where no value could be told."""
    low, high = found["dr_lift"][1:3]
    return bool(low <= found["truth"]["dr_lift"] <= high) if np.isfinite(low) else None


def told(found: Figures) -> str:
    return {None: "–", True: "yes", False: "no"}[holds(found)]


def met(yes: bool) -> str:
    return "met" if yes else "**missed**"


def number(value: Any, digits: int = 3) -> str:
    """A dash where there is none."""
    return "–" if value is None or not np.isfinite(value) else f"{value:.{digits}f}"


def span(estimate: list[float], digits: int = 3) -> str:
    """Value and interval."""
    value, low, high = estimate[:3]
    ends = f" [{number(low, digits)}, {number(high, digits)}]" if np.isfinite(low) else ""
    return f"{number(value, digits)}{ends}"
