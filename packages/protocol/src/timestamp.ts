import { z } from "zod";

export const Timestamp = z.iso.datetime().meta({ description: "Time in UTC, ISO 8601 with milliseconds" });
