import { defineConfig } from "@colloquy/server/config";
import { rollDice } from "./tools/roll-dice.ts";

export default defineConfig({
  apps: {
    support: {
      // Only server.ts has the key.
      requireKey: "all",
      // Needs no key. A provider's key and one of its models bring a real one: see README.md.
      models: ["demo/assistant"],
      instructions: "You lead a game. Roll the dice with your tool, and never make up a result.",
      tools: { roll_dice: rollDice },
      // After a crash, a call that only reads may run again.
      effects: { roll_dice: "read" },
      // Only users who sign in with a wallet may bind conversations to it.
      wallets: "proved",
      // Lets a person decide about each call:
      // approvals: { roll_dice: "always" },
    },
  },
});
