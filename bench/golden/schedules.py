"""Learning rates of Optax's schedules: each case has the options of a run file's section `optimizer` and update counts."""

from jax_program import make_schedule


def one_case(case):
    schedule = make_schedule(case["options"])
    return {**case, "values": [float(schedule(count)) for count in case["counts"]]}


def schedules(old):
    return [one_case(case) for case in old]
