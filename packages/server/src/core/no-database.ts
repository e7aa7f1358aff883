/** There is no database in the data directory, or no such directory: thrown to commands that have nothing to do without one, and make none. */
export class NoDatabase extends Error {
  constructor(directory: string) {
    super(
      `There is no database of Colloquy in ${directory} yet. If the service keeps its data elsewhere, name that directory with COLLOQUY_DATA_DIR.`,
    );
  }
}
