/** Current measurements of this process. */
export interface ProcessGauges {
  liveSessions(): number;
  /** Bytes. */
  snapshotBytes(): number;
  openStreams(): number;
  runningTurns(): number;
}
