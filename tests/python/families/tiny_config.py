"""Configs of every family made small, by the names of their settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transformers import CONFIG_MAPPING, PreTrainedConfig

from tests.python.families.own_sizes import OWN
from tests.python.families.sizes import COUNTS, LEFT_OUT, SMALL, STAGES, THREE_AXES

Settings = dict[str, Any]

Way = Callable[[Settings], Settings]
"""Makes the settings of a default config small."""


class UnmadeError(Exception):
    """The family has no such config."""


def config_for(family: str, way: Way) -> PreTrainedConfig:
    """The family's default config, made small by the names of its settings."""
    small = with_own(family, way(CONFIG_MAPPING[family]().to_dict()))
    small["architectures"] = []
    for name in ("transformers_version", "model_type"):
        small.pop(name, None)
    config = CONFIG_MAPPING[family](**small)
    if family.startswith(THREE_AXES):
        _with_three_axes(config)
    return config


def config_of_part(family: str, part: str) -> PreTrainedConfig:
    """The config of a part of the family, such as its text model.

    Raises:
        UnmadeError: it has no such part.
    """
    config = getattr(config_for(family, linked), part, None)
    if not isinstance(config, PreTrainedConfig):
        raise UnmadeError(f"no {part}")
    return config


def with_own(family: str, small: Settings) -> Settings:
    """The settings with what the family wants besides; `...` takes a setting away."""
    return _merged(small, OWN.get(family, {}))


def _merged(settings: Settings, more: Settings) -> Settings:
    merged = dict(settings)
    for name, value in more.items():
        if value is ...:
            merged.pop(name, None)
        elif isinstance(value, dict) and isinstance(merged.get(name), dict):
            merged[name] = _merged(merged[name], value)
        else:
            merged[name] = value
    return merged


def shrunk(settings: Settings) -> Settings:
    """Every size made small, each by its name; of lists along layers two kinds are kept."""
    settings = _two_kinds(settings)
    layers = _layers(settings)
    small: Settings = {}
    for name, value in settings.items():
        if _is_config(value):
            small[name] = with_own(value["model_type"], shrunk(value))
        elif name == "num_key_value_heads" and value == settings.get("num_attention_heads"):
            small[name] = SMALL["num_attention_heads"]  # a family without grouped queries
        elif name in SMALL and _is_number(value):
            small[name] = min(value, SMALL[name]) or value
        elif name in ("image_size", "patch_size") and isinstance(value, list | tuple):
            small[name] = [min(v, SMALL[name]) for v in value]
        elif name == "rope_parameters" and isinstance(value, dict) and "mrope_section" in value:
            small[name] = {**value, "mrope_section": [2, 1, 1], "partial_rotary_factor": 1.0}
        elif name in LEFT_OUT or (name in STAGES and not _keeps_stages(settings)):
            continue
        else:
            small[name] = _token_or_list(name, value, layers)
    return small


def linked(settings: Settings) -> Settings:
    """Made small so that settings with one value before have one value after.

    A size that a family calls by a name of its own (the width a projector takes, a codebook's)
    follows the width it equals.
    """
    return _with_links(shrunk(settings), settings, _widths(settings))


def counted(settings: Settings) -> Settings:
    """Fewer layers, experts and words, with all widths as they are, which fit one another."""
    layers = _layers(settings)
    patch: Any = settings.get("patch_size")
    small: Settings = {}
    for name, value in settings.items():
        if _is_config(value):
            small[name] = with_own(value["model_type"], counted(value))
        elif name == "image_size" and _is_number(patch) and "window_size" not in settings:
            small[name] = min(value, 4 * patch) if _is_number(value) else value
        elif name in COUNTS and _is_number(value):
            small[name] = min(value, SMALL[name]) or value
        elif name in LEFT_OUT or (name in STAGES and not _keeps_stages(settings)):
            continue
        else:
            small[name] = _token_or_list(name, value, layers)
    return small


def _is_config(value: Any) -> bool:
    return isinstance(value, dict) and "model_type" in value


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _keeps_stages(settings: Settings) -> bool:
    """Whether a backbone has as many stages as before: they are numbered by its depths."""
    own = OWN.get(settings.get("model_type", ""), {})
    return "depths" not in own and (
        isinstance(settings.get("depths"), list) or not _layers(settings)
    )


def _token_or_list(name: str, value: Any, layers: int) -> Any:
    if name.endswith(("_token_id", "_token_index")) and _is_number(value) and value >= 300:
        return 3
    if name.endswith("_token_id") and isinstance(value, list):
        return [min(v, 3) for v in value]
    if isinstance(value, list) and len(value) == layers > 2:
        return value[:1] + value[-1:]
    return value


def _layers(settings: Settings) -> int:
    names = ("num_hidden_layers", "num_layers", "n_layer", "n_layers")
    counts = (settings.get(name) for name in names)  # LXMERT's is a dictionary
    return next((n for n in counts if n and _is_number(n)), 0)


def _widths(settings: Settings) -> dict[int, int]:
    """Large widths in a config and the configs inside it, and what they become."""
    found: dict[int, int] = {}
    for name, value in settings.items():
        if isinstance(value, dict):
            found = {**_widths(value), **found}
        elif name in ("hidden_size", "d_model", "n_embd") and _is_number(value):
            found[value] = SMALL[name]
    return found


def _with_links(small: Settings, settings: Settings, widths: dict[int, int]) -> Settings:
    found = dict(small)
    for name, value in settings.items():
        if _is_config(value):
            found[name] = _with_links(small[name], value, widths)
        elif (
            name in found
            and name not in SMALL
            and name.endswith(("_dim", "_size", "channels"))
            and _is_number(value)
            and value >= 64
            and value == found[name]
        ):
            found[name] = widths.get(value, value)
    return found


def _two_kinds(settings: Settings) -> Settings:
    """Lists along layers cut to two layers, which differ where any differ."""
    layers = _layers(settings)
    along = {n: v for n, v in settings.items() if isinstance(v, list) and len(v) == layers > 2}
    kinds = along.get("layer_types") or next(iter(along.values()), [])
    other = next((i for i, kind in enumerate(kinds) if kind != kinds[0]), layers - 1)
    cut: Settings = {}
    for name, value in settings.items():
        if _is_config(value):
            cut[name] = _two_kinds(value)
        else:
            cut[name] = [value[0], value[other]] if name in along else value
    return cut


def _with_three_axes(config: PreTrainedConfig) -> None:
    """Rotary positions in time, height and width, which share the half of a head."""
    for part in (config, *vars(config).values()):
        rope = getattr(part, "rope_parameters", None) if part is not None else None
        if isinstance(rope, dict):
            rope["mrope_section"] = [2, 1, 1]
