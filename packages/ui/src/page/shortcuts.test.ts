import { describe, expect, it } from "vitest";
import { keyLabels, shortcutOf, SHORTCUTS, type PressedKey } from "./shortcuts.ts";

function press(key: string, more: Partial<PressedKey> = {}): ReturnType<typeof shortcutOf> {
  const held = { ctrlKey: false, metaKey: false, shiftKey: false, altKey: false };
  return shortcutOf({ key, code: "", ...held, isInField: false, isApple: false, ...more });
}
const ctrl = { ctrlKey: true };
const shift = { shiftKey: true };

describe("shortcutOf", () => {
  it.each<[string, Partial<PressedKey>, ReturnType<typeof shortcutOf>]>([
    ["O", { ...ctrl, ...shift }, "new_chat"],
    ["o", ctrl, null],
    ["k", ctrl, "search"],
    ["k", { ...ctrl, isInField: true }, "search"],
    ["k", {}, null],
    ["K", { ...ctrl, ...shift }, null],
    ["k", { ...ctrl, altKey: true }, null],
    ["Escape", shift, "message"],
    ["Escape", {}, null],
    ["Enter", { ...ctrl, ...shift }, "decide"],
    ["Enter", ctrl, null],
    ["?", shift, "shortcuts"],
    ["?", { ...shift, isInField: true }, null],
    ["/", ctrl, "shortcuts"],
    ["/", {}, null],
    [".", { ...ctrl, isInField: true }, "stop"],
  ])("%s with %j", (key, more, name) => {
    expect(press(key, more)).toBe(name);
  });

  it("takes Cmd instead of Ctrl on Apple's systems, where Ctrl with a letter edits text", () => {
    expect(press("k", { metaKey: true, isApple: true })).toBe("search");
    expect(press("k", { ...ctrl, isApple: true })).toBeNull();
    expect(press("k", { metaKey: true })).toBeNull();
  });

  it("works on keyboards without Latin letters, and with marks that need Shift", () => {
    expect(press("л", { ...ctrl, code: "KeyK" })).toBe("search");
    expect(press("ю", { ...ctrl, code: "Period" })).toBe("stop");
    // Dvorak: another letter at the place of K.
    expect(press("t", { ...ctrl, code: "KeyK" })).toBeNull();
    // Germany: "/" is Shift and 7.
    expect(press("/", { ...ctrl, ...shift, code: "Digit7" })).toBe("shortcuts");
  });
});

describe("keyLabels", () => {
  it.each([
    [SHORTCUTS.new_chat, ["Ctrl", "Shift", "O"], ["⌘", "⇧", "O"]],
    [SHORTCUTS.message, ["Shift", "Esc"], ["⇧", "Esc"]],
    [SHORTCUTS.decide, ["Ctrl", "Shift", "Enter"], ["⌘", "⇧", "Return"]],
    [SHORTCUTS.shortcuts, ["?"], ["?"]],
  ])("%j", ({ keys: [keys] }, labels, apple) => {
    expect(keyLabels(keys!, false)).toEqual(labels);
    expect(keyLabels(keys!, true)).toEqual(apple);
  });
});
