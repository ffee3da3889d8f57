import { tokenColumns } from "./attention";

/** Texts that are hard to set: no spaces, right to left, more code units than characters. */
export const chinese = () =>
  tokenColumns([[..."今天天气很好，我们去公园散步。"].map((char) => [char])]);

export const arabic = () =>
  tokenColumns([
    [["ذهب", "ت"], ["إلى"], ["ال", "سوق"], ["واشتري", "ت"], ["خبز", "ا"], ["طازج", "ا"], ["."]],
  ]);

export const emoji = () =>
  tokenColumns([
    [
      ["👩‍🔬"],
      ["mixes"],
      ["café"],
      ["☕️"],
      ["and"],
      ["naïve"],
      ["🇯🇵"],
      ["ideas"],
      ["🙂"],
      ["Donau", "dampf", "schiff", "fahrts", "gesellschaft"],
      ["!"],
    ],
  ]);
