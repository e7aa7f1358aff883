/** Upper bound on event loop rounds; no condition needs nearly as many. */
const MAX_ROUNDS = 20_000;

/** Polls the condition on the event loop; throws if it is still false after `MAX_ROUNDS`. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    if (await condition()) return;
    // Yields the CPU to the other process.
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  throw new Error(`This condition never became true: ${condition.toString()}`);
}
