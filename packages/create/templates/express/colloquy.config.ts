import { defineConfig } from "@colloquy/server/config";
import { rollDice } from "./tools/roll-dice.ts";

export default defineConfig({
  apps: {
    support: {
      // Only server.ts has a key.
      requireKey: "all",
      // Needs no provider key. README.md explains how to use another model.
      models: ["demo/assistant"],
      instructions: "You lead a game. Roll the dice with your tool, and never make up a result.",
      tools: { roll_dice: rollDice },
      // Suggestions in a new conversation. The demo model calls a tool if the message names it.
      suggestions: ['Call roll_dice {"count": 3}', "What tools do you have?", "Count to 20"],
      // After a crash, a call that only reads may run again.
      effects: { roll_dice: "read" },
      // Only users who sign in with a wallet may bind conversations to it.
      wallets: "proved",
      // Requires a person's approval of each call:
      // approvals: { roll_dice: "always" },
    },
  },
});
