import { createContext } from "react";

/** True if the newest message is rendered. Read by components inside messages. */
export const NewestShownContext = createContext(true);
