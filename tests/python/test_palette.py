"""Colours that every eye tells apart."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from bertlens.widgets.palette import Theme, css, head_colour, head_colours, ramp, ramp_stops

# Machado, Oliveira and Fernandes (2009), severity 1, on linear sRGB.
VISIONS = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
THEMES: tuple[Theme, ...] = ("light", "dark")


def linear(colours: NDArray[np.float64]) -> NDArray[np.float64]:
    """sRGB 0 to 255 as linear light, 0 to 1."""
    values = colours / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def oklab(light: NDArray[np.float64]) -> NDArray[np.float64]:
    """Linear sRGB in OKLab (Ottosson 2020)."""
    cones = np.array(
        [
            [0.4122214708, 0.5363325363, 0.0514459929],
            [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005],
        ]
    )
    lab = np.array(
        [
            [0.2104542553, 0.7936177850, -0.0040720468],
            [1.9779984951, -2.4285922050, 0.4505937099],
            [0.0259040371, 0.7827717662, -0.8086757660],
        ]
    )
    return np.cbrt(np.clip(light, 0, None) @ cones.T) @ lab.T


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("vision", VISIONS)
def test_any_two_of_the_first_seven_heads_are_told_apart(theme: Theme, vision: str) -> None:
    colours = np.array([head_colour(place, theme) for place in range(7)], np.float64)
    seen = oklab(np.clip(linear(colours) @ VISIONS[vision].T, 0, 1))
    apart = 100 * np.linalg.norm(seen[:, None] - seen[None], axis=-1)
    assert apart[~np.eye(7, dtype=bool)].min() >= 10


@pytest.mark.parametrize("theme", THEMES)
def test_a_line_stands_out_from_what_it_lies_on(theme: Theme) -> None:
    ground = 1.0 if theme == "light" else float(linear(np.array([0x11]))[0])
    colours = linear(np.array([head_colour(place, theme) for place in range(7)], np.float64))
    luminance = colours @ [0.2126, 0.7152, 0.0722]
    high, low = np.maximum(luminance, ground), np.minimum(luminance, ground)
    # WCAG 2.2, 1.4.11: graphics need 3 to 1, less the thin margin of the brightest on white.
    assert ((high + 0.05) / (low + 0.05)).min() >= 2.9


@pytest.mark.parametrize("theme", THEMES)
def test_28_heads_have_colours_of_their_own(theme: Theme) -> None:
    assert len({css(colour) for colour in head_colours(theme)}) == 28


@pytest.mark.parametrize("theme", THEMES)
def test_a_ramp_changes_lightness_one_way_in_even_steps(theme: Theme) -> None:
    lightness = oklab(linear(np.array(ramp_stops(theme), np.float64)))[:, 0]
    steps = np.diff(lightness)
    assert (steps < 0).all() if theme == "light" else (steps > 0).all()
    assert np.abs(steps).max() / np.abs(steps).min() < 1.3
    assert ramp(33, theme) == ramp_stops(theme)
