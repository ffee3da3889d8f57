"""Colours of the picture, the same as on the page in its light theme."""

from __future__ import annotations

import math
from functools import cache

HUES = (30, 255, 145, 330, 75, 200, 295, 110, 0, 225, 175, 310)
"""Degrees; models with more heads use them again, darker."""

Rgb = tuple[int, int, int]


def head_colour(head: int) -> str:
    """The colour of a head as #rrggbb."""
    again = head // len(HUES) % 2 == 1
    hue = HUES[head % len(HUES)]
    return css(oklch(0.45, 0.11, hue) if again else oklch(0.6, 0.145, hue))


def css(colour: Rgb) -> str:
    """A colour as #rrggbb."""
    return "#{:02x}{:02x}{:02x}".format(*colour)


@cache
def ramp(steps: int) -> tuple[Rgb, ...]:
    """White to dark blue in even steps of lightness: low to high."""
    return tuple(
        oklch(1 - 0.615 * i / (steps - 1), 0.145 * i / (steps - 1), 259) for i in range(steps)
    )


@cache
def oklch(lightness: float, chroma: float, hue: float) -> Rgb:
    """OKLCH to sRGB (Ottosson 2020), chroma reduced until the colour is within sRGB."""
    angle = math.radians(hue)
    while True:
        linear = _linear(lightness, chroma * math.cos(angle), chroma * math.sin(angle))
        if chroma <= 0 or all(-1e-4 <= value <= 1.0001 for value in linear):
            red, green, blue = (_gamma(value) for value in linear)
            return red, green, blue
        chroma = max(0.0, chroma - 0.005)


def _linear(lightness: float, a: float, b: float) -> tuple[float, float, float]:
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    middle = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3
    return (
        4.0767416621 * long - 3.3077115913 * middle + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * middle - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * middle + 1.707614701 * short,
    )


def _gamma(linear: float) -> int:
    value = min(1.0, max(0.0, linear))
    return round(
        255 * (12.92 * value if value <= 0.0031308 else 1.055 * value ** (1 / 2.4) - 0.055)
    )
