/** Far more than anything here takes; rounds of the event loop, not time. */
const MAX_ROUNDS = 20_000;

/** Goes round the event loop until the condition holds; throws when it does not after very many rounds. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    if (await condition()) return;
    // Leaves the machine to the other side for a moment.
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  throw new Error(`This never came to hold: ${condition.toString()}`);
}
