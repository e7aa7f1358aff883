import { describeBus } from "./bus.suite.ts";
import { InProcessBus } from "./in-process-bus.ts";

describeBus("alone", (logger) => new InProcessBus(logger));
