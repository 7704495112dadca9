#!/usr/bin/env python3
"""Counts what an event of a simulation, and a plan, cost by stage: instructions, branches guessed
wrong and cache misses, by valgrind's callgrind, which needs no counters of the processor. The
caches are simulated: 48 KiB for data and 1 MiB behind it.

    tools/account.py build/release/bin [OTHER/bin]

prints a table in Markdown; with two folders of programs, both figures of each cell. Takes minutes.
"""

import re
import subprocess
import sys
import tempfile

# A function counts for the first stage whose expression is found in its name.
EVENT_STAGES = [
    ("made by the benchmark", r"make_workload|bench_one|Workload::intern|fmt::|Random|log1p|exponential"),
    ("summary", r"Distribution|Ratios|at_least|Account::write|LeastNeeds|to_json|nlohmann|Measure::finish"),
    ("request to class to GPU", r"PlacementIndex::(decide|find_by)|OnlineDecisions::place|decide_by_scan"),
    ("index update", r"PlacementIndex::|OnlineDecisions::changed|Fleet::destroys"),
    ("moves on departure", r"Rebalancer|OnlineDecisions::next_move|OnlineDecisions::kind|next_move"),
    ("state change", r"Fleet::|Seats::|StateGraph|Geometry"),
    ("queue and engine", r"Online::|Engine::|ServedQueue|JobQueue|QueueRules|Overloads|variant"),
    ("event queue", r"Agenda|Simulation::(run|next_time|outdated)"),
    ("measures", r"Measure::|EnergyAccount|Account::|Rates::|SlicesHeld"),
    ("commands", r"Simulation::(carry_out|begin|stop|must_run|step)|World::|RunMemory"),
    ("the job's run", r"Simulation::"),
    ("rest", r""),
]
PLAN_STAGES = [
    ("made by the benchmark", r"paper_fleet|Generator|bench_one"),
    ("linear programmes", r"Clp|Coin|Cbc|Osi|Solver|Cgl"),
    ("problem read", r"ProblemBuilder|PlanProblem|RequestTable|group_gpus|Grouper"),
    ("patterns, programme built", r"PatternMaker|count_model|Builder|build_model|weighted_sum"),
    ("dealt out", r"cleave::deal|Dealer|Stages|find_optimum"),
    ("moves in waves", r"MoveState|Journey|Dependencies|plan_moves|least_waves|target_of"),
    ("checks and measures", r"fault|Replay|flaw|metrics|future_room|objective_values|finish|pending"),
    ("text", r"plan_text|Lists|append_json|fingerprint|cost_of|layout_text|fmt::|nlohmann|json"),
    ("memory", r"malloc|free|operator (new|delete)|mem(cpy|move|set|cmp)|brk|unlink_chunk"),
    ("rest", r""),
]


def count(program, arguments):
    """Costs by function: (name, instructions, mispredicted, first-level, last-level)."""
    with tempfile.NamedTemporaryFile(prefix="account") as out:
        subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out.name}",
                        "--cache-sim=yes", "--branch-sim=yes", "--I1=32768,8,64",
                        "--D1=49152,12,64", "--LL=1048576,16,64", program, *arguments],
                       check=True, capture_output=True)
        text = subprocess.run(["callgrind_annotate", "--threshold=100", "--auto=no", out.name],
                              check=True, capture_output=True, text=True).stdout
    shown = re.search(r"Events shown: +(.*)", text).group(1).split()
    cell = r"([\d,]+|\.)(?: +\( *[\d.]+%\))? +"
    whole = re.compile(" *" + cell * len(shown) + r"(\S.*)$")
    rows = []
    for line in text.splitlines():
        found = whole.match(line)
        if not found or "PROGRAM TOTALS" in line:
            continue
        cost = {event: 0 if number == "." else int(number.replace(",", ""))
                for event, number in zip(shown, found.groups())}
        name = found.groups()[-1].replace("(anonymous namespace)::", "")
        rows.append((name.split("(")[0] + name[name.rfind("["):], cost["Ir"],
                     cost["Bcm"] + cost["Bim"], cost["D1mr"] + cost["D1mw"],
                     cost["DLmr"] + cost["DLmw"]))
    return rows


def by_stage(rows, stages, units):
    sums = {name: [0, 0, 0, 0] for name, _ in stages}
    for function, *costs in rows:
        stage = next(name for name, pattern in stages if re.search(pattern, function))
        sums[stage] = [a + b for a, b in zip(sums[stage], costs)]
    return {name: [each / units for each in values] for name, values in sums.items()}


def print_table(title, stages, tables, digits):
    print(f"\n{title}\n\n| stage | instructions | branches guessed wrong | first-level misses "
          "| last-level misses |\n|---|---:|---:|---:|---:|")
    for name in [name for name, _ in stages] + ["all but the benchmark"]:
        cells = []
        for kind in range(4):
            values = []
            for table in tables:
                value = table[name][kind] if name in table else sum(
                    costs[kind] for other, costs in table.items() if other != stages[0][0])
                values.append(f"{value:,.{0 if kind == 0 else digits}f}")
            cells.append(" → ".join(values))
        print(f"| {name} | " + " | ".join(cells) + " |")


def main():
    folders = sys.argv[1:]
    if not folders:
        sys.exit(__doc__)
    gpus, jobs, repeats = 10000, 30000, 3
    events = ["bench", "simulation", "--gpus", str(gpus), "--jobs", str(jobs), "--world", "bare"]
    plan = ["bench", "planner", "--gpus", str(gpus), "--cases", "1", "--assignment-limit", "0"]
    print_table(f"An event of {jobs:,} jobs on {gpus:,} GPUs, world off", EVENT_STAGES,
                [by_stage(count(f"{folder}/cleave-study", events), EVENT_STAGES,
                          2 * jobs * repeats) for folder in folders], 2)
    print_table(f"The plans of the four problems for {gpus:,} GPUs together, in thousands",
                PLAN_STAGES, [by_stage(count(f"{folder}/cleave-study", plan), PLAN_STAGES,
                                       1000) for folder in folders], 0)


if __name__ == "__main__":
    main()
