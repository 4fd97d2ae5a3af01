import json


def apply_settings(run, settings):
    """Sets values of a run file by their paths, as --set does: model.compute_dtype=bf16."""
    for setting in settings:
        path, text = setting.split("=", 1)
        *parents, last = path.split(".")
        place = run
        for key in parents:
            place = place.setdefault(key, {})
        try:
            place[last] = json.loads(text)
        except json.JSONDecodeError:
            place[last] = text
