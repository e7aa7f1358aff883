import { randomInt } from "node:crypto";
import { tool } from "ai";
import { z } from "zod";

export const rollDice = tool({
  description: "Rolls dice, and returns each result and their sum",
  inputSchema: z.object({
    count: z.int().min(1).max(100).describe("Number of dice"),
    sides: z.int().min(2).max(1000).default(6).describe("Sides of each die"),
  }),
  execute: ({ count, sides }) => roll(count, sides),
});

export function roll(count: number, sides: number): { results: number[]; sum: number } {
  const results = Array.from({ length: count }, () => randomInt(1, sides + 1));
  return { results, sum: results.reduce((sum, result) => sum + result, 0) };
}
