"""Colours, stated once: js/generate.py writes the page's js/src/drawing/palette.ts from these.

Seven colours of heads that every eye tells apart: under normal vision and simulated protanopia,
deuteranopia and tritanopia (Machado et al. 2009) any two are at least 0.15 apart in OKLab (Ottosson
2020), on light and on dark. Further heads repeat them lighter and darker. Ramps are even steps of
lightness in OKLab.
"""

from __future__ import annotations

from typing import Literal

Theme = Literal["light", "dark"]
Rgb = tuple[int, int, int]

_HEADS = {
    "light": "3d96fa 6c2203 a9940e 383179 ec36a3 9f4e3c 472afc".split(),
    "dark": "ede342 6b5afd d83515 1afdf9 ed8f86 a5a4f9 9b6596".split(),
}

_VARIANTS = ((0.0, 0), (0.45, 255), (0.4, 0), (0.65, 255))
"""Share and grey level that a round of seven is mixed with."""

_LIGHT_RAMP = (
    "f8fafd f0f4fa e9eef6 e1e8f3 d9e2f0 d1dced c9d6ea c2d0e6 bacae3 b2c4e0 abbedc a3b8d9 9cb3d6 "
    "94add2 8da7cf 85a1cc 7e9bc8 7795c5 7090c1 688abe 6184ba 5a7eb7 5379b3 4c73b0 456dac 3d67a9 "
    "3662a5 2f5ca1 28569e 20509a 184a96 0e4493 033e8f"
).split()
_DARK_RAMP = (
    "1d1e22 222328 26282d 2c2d33 313339 36383f 3b3e46 41434c 464952 4c4f59 51555f 575b66 5d616d "
    "636773 686d7a 6e7381 747988 7a7f8f 808696 878c9e 8d93a5 9399ac 99a0b4 a0a6bb a6adc2 adb4ca "
    "b3bad2 bac1d9 c0c8e1 c7cfe9 cdd6f0 d4ddf8 dce4fd"
).split()

CATEGORIES = "56b4e9 e69f00 009e73 d55e00 0072b2 cc79a7 f0e442".split()
"""Of Okabe and Ito (2008), told apart by every eye; the faintest on white comes last."""


def rgb(colour: str) -> Rgb:
    """A colour from its six hexadecimal digits."""
    return int(colour[:2], 16), int(colour[2:4], 16), int(colour[4:], 16)


def css(colour: Rgb) -> str:
    """A colour as #rrggbb."""
    return "#{:02x}{:02x}{:02x}".format(*colour)


def head_colours(theme: Theme) -> list[Rgb]:
    """Colours of heads, by the order in which they are switched on; 28 of them."""
    return [
        mixed(rgb(colour), share, grey) for share, grey in _VARIANTS for colour in _HEADS[theme]
    ]


def mixed(colour: Rgb, share: float, grey: int) -> Rgb:
    """A colour with a share of a grey in it."""
    red, green, blue = (round(value + share * (grey - value)) for value in colour)
    return red, green, blue


def head_colour(place: int, theme: Theme = "light") -> Rgb:
    """The colour of the head at this place among those that are on."""
    colours = head_colours(theme)
    return colours[place % len(colours)]


def ramp_stops(theme: Theme) -> list[Rgb]:
    """Even steps of the ramp, low to high; colours between them are interpolated in sRGB."""
    return [rgb(colour) for colour in (_LIGHT_RAMP if theme == "light" else _DARK_RAMP)]


def ramp(steps: int, theme: Theme = "light") -> list[Rgb]:
    """The ramp in so many even steps, low to high."""
    stops = ramp_stops(theme)
    colours = []
    for i in range(steps):
        place = i / (steps - 1) * (len(stops) - 1)
        low = min(int(place), len(stops) - 2)
        red, green, blue = (
            round(a + (place - low) * (b - a))
            for a, b in zip(stops[low], stops[low + 1], strict=True)
        )
        colours.append((red, green, blue))
    return colours


def category_colour(index: int) -> Rgb:
    """The colour of a category, the same on light and dark."""
    if index < len(CATEGORIES):
        return rgb(CATEGORIES[index])
    return head_colour(index, "dark")
