"""The widget on the page, its parts named as a person would name them."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, expect


class Explorer:
    """One display of a view, inside the output of a cell."""

    def __init__(self, output: Locator) -> None:
        self.frame = output.locator(".bl-frame")
        self.frame.wait_for(timeout=60_000)
        self.grid = self.frame.get_by_role("grid", name="Layers by heads")
        self.head_pane = self.frame.get_by_role("region", name="Head view")
        self.token_pane = self.frame.get_by_role("region", name="Token")
        self.text = self.frame.get_by_role("textbox", name="Text", exact=True)
        self.second_text = self.frame.get_by_role("textbox", name="Second text, optional")
        self.error = self.frame.get_by_role("alert")
        self.matrix = self.frame.locator(".bl-matrix-plot")

    def cell(self, layer: int, head: int) -> Locator:
        return self.grid.get_by_role("gridcell", name=f"layer {layer}, head {head}", exact=True)

    def swatch(self, head: int) -> Locator:
        return self.frame.get_by_role("button", name=f"Head {head}", exact=True)

    def token(self, side: str, index: int) -> Locator:
        """A token of the head view, on the left ("from") or on the right ("to")."""
        return self.head_pane.locator(f"[data-side={side}][data-index='{index}']")

    def piece(self, index: int) -> Locator:
        """A token of the running text in the token view."""
        return self.token_pane.get_by_role("listbox").first.get_by_role("option").nth(index)

    def menu(self, label: str) -> Locator:
        return self.frame.get_by_role("combobox", name=label)

    def button(self, name: str) -> Locator:
        return self.frame.get_by_role("button", name=name, exact=True)

    def shows(self, layer: int, heads: list[int]) -> None:
        """The lines of these heads have been drawn, and grid and swatches agree."""
        names = ",".join(map(str, heads))
        expect(self.head_pane).to_have_attribute("data-painted", re.compile(f":{layer}:{names}$"))
        for swatch in range(self.frame.locator(".bl-swatch").count()):
            on = "true" if swatch in heads else "false"
            expect(self.swatch(swatch)).to_have_attribute("aria-pressed", on)
        selected = self.grid.locator("[aria-selected=true]")
        expect(selected).to_have_count(len(heads))
        for head in heads:
            expect(self.cell(layer, head)).to_have_attribute("aria-selected", "true")

    def has_pinned(self, side: str, index: int) -> None:
        expect(self.token(side, index)).to_have_attribute("aria-selected", "true")

    def has_no_pin(self) -> None:
        expect(self.head_pane.locator("[data-side][aria-selected=true]")).to_have_count(0)
