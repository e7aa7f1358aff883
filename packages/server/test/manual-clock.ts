export { ManualClock } from "@colloquy/testing/internal/manual-clock";
