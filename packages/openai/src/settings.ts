import { servedAppsField } from "@colloquy/server/protocol";
import { z } from "zod";

export const Settings = z.strictObject({ apps: servedAppsField("the OpenAI API") });

export type Settings = z.output<typeof Settings>;
