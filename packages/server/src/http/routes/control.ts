import { ModelList, type AppDescriptor as Descriptor } from "@colloquy/protocol";
import { z } from "zod";
import type { ToolSourceReports } from "@colloquy/engine/internal/core/ports/driven/tool";
import { AppDescriptor, SetModelResult } from "../documented.ts";
import { AppName, HEADERS, optional, refusals } from "../operation.ts";
import { DEFAULT_APP } from "@colloquy/engine/internal/core/session";
import type { HttpApp, RouteParts } from "./route-parts.ts";

const TAGS = ["Control"];
const RIG_MAX = 200;

const rig = (): z.ZodString =>
  z
    .string("must be a string")
    .min(1, "must not be empty")
    .max(RIG_MAX, `must be at most ${RIG_MAX} characters`);

const SetModelQuery = z.object({
  rig: rig().meta({ description: "Model identifier", examples: ["demo/assistant"] }),
  baml: optional(rig().meta({ description: "Utility model (titles, summaries)" })),
  app: optional(AppName),
});

export function controlRoutes(app: HttpApp, parts: RouteParts): void {
  setModel(app, parts);
  listModels(app, parts);
  listApps(app, parts);
}

function setModel(app: HttpApp, { services, admission }: RouteParts): void {
  app.post(
    "/api/control/model",
    {
      config: { access: { session: "header", app: "query", scope: "chat", creates: true } },
      schema: {
        operationId: "setModel",
        summary: "Set the model of a session",
        description: "Creates the session if it does not exist.",
        tags: TAGS,
        headers: z.object({ ...HEADERS.session, ...HEADERS.appKey }),
        querystring: SetModelQuery,
        response: { 200: SetModelResult, ...refusals(401, 404, 409, 413, 429, 503, 507) },
      },
    },
    (request) => {
      const { caller } = request;
      const { rig, baml, app: name } = request.query;
      return services.models.setModel(
        {
          sessionId: caller.sessionId,
          access: caller.access(name ?? caller.onlyOpened() ?? DEFAULT_APP),
          app: name ?? null,
          keyApp: caller.onlyOpened(),
          authorize: (wanted) => caller.authorizeApp(wanted),
          rig,
          utilityModel: baml ?? null,
        },
        admission.newSession(request),
      );
    },
  );
}

function listModels(app: HttpApp, { services, admission }: RouteParts): void {
  app.get(
    "/api/control/models",
    {
      config: { access: { session: "header?", app: "query", scope: "read", creates: true } },
      schema: {
        operationId: "listModels",
        summary: "List the models of the session's App",
        description:
          "Without a session that belongs to an App: those of the App that `app` names, else of the one that the key opens, else of `default`. " +
          "Creates the session when one is named and there is none.",
        tags: TAGS,
        headers: z.object({ "X-Session-Id": HEADERS.session["X-Session-Id"].optional(), ...HEADERS.appKey }),
        querystring: z.object({ app: optional(AppName) }),
        response: {
          200: ModelList.meta({ description: "Model identifiers", examples: [["demo/assistant"]] }),
          ...refusals(401, 404, 409, 429, 503, 507),
        },
      },
    },
    async (request, reply) => {
      const { caller } = request;
      const { app: name } = request.query;
      const keyApp = caller.onlyOpened();
      const models = await services.models.listModels(
        {
          sessionId: caller.namedSession,
          access: caller.access(name ?? keyApp ?? DEFAULT_APP),
          app: name ?? null,
          keyApp,
          authorize: (wanted) => caller.authorizeSession(wanted),
        },
        admission.newSession(request),
      );
      return reply.send([...models]);
    },
  );
}

function listApps(app: HttpApp, { services, admission }: RouteParts): void {
  const { apps, conversations, tools } = services;
  app.get(
    "/api/control/apps",
    {
      config: { access: { session: "header", app: "opened", scope: "read", creates: true } },
      schema: {
        operationId: "listApps",
        summary: "List the Apps",
        description:
          "`default`, and the Apps that the sent key opens. Loads the tools of their sources first, for at most five seconds.",
        tags: TAGS,
        headers: z.object({ ...HEADERS.session, ...HEADERS.appKey }),
        response: {
          200: z.array(AppDescriptor).meta({ description: "Apps" }),
          ...refusals(401, 404, 429, 503, 507),
        },
      },
    },
    async (request, reply) => {
      const { caller } = request;
      await conversations.ensure(caller.sessionId, caller.access(), admission.newSession(request));
      const names = [DEFAULT_APP, ...caller.opened()];
      await Promise.all(names.map((name) => tools.refresh(name)));
      return reply.send(
        names.flatMap((name) => {
          const descriptor = apps.get(name)?.descriptor;
          return descriptor === undefined ? [] : { ...descriptor, ...toolProblems(tools, name) };
        }),
      );
    },
  );
}

/** Returns the failing tool sources of an App as a response field; an empty object if there are none. */
function toolProblems(tools: ToolSourceReports, app: string): Pick<Descriptor, "tool_problems"> {
  const failing = tools
    .sources(app)
    .flatMap(({ name, problem }) => (problem === null ? [] : { name, problem }));
  return failing.length === 0 ? {} : { tool_problems: failing };
}
