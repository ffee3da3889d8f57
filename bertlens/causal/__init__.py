"""What the model does without a head: effects, patching, attribution and pruning curves."""

from bertlens.causal.attribution import attribution, patching_attribution
from bertlens.causal.effects import Effects, effects
from bertlens.causal.patching import patching
from bertlens.causal.pruning import PruningCurve, pruning_curve

__all__ = [
    "Effects",
    "PruningCurve",
    "attribution",
    "effects",
    "patching",
    "patching_attribution",
    "pruning_curve",
]
