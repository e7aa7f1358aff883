import { expect, it } from "vitest";
import { ConnectProxy } from "../../../../server/test/environments/connect-proxy.ts";
import { Hidden } from "../../core/hidden.ts";
import { failure, get, publicAddress, useOutbound } from "./testing/outbound-trial.ts";

const { asked, open, startPublic } = useOutbound();

it("leaves names to a proxy, checks addresses, and never sends http through it", async () => {
  const server = await startPublic();
  const proxy = await ConnectProxy.start({ encrypted: server.port, plain: server.port, host: publicAddress });
  const proxies = {
    https: new Hidden(new URL(`http://127.0.0.1:${proxy.port}`)),
    http: new Hidden(new URL(`http://127.0.0.1:${proxy.port}`)),
    direct: ["inside.test"],
  };
  const outbound = open({ proxies });
  expect(await (await get(outbound, "https://public.test/")).text()).toBe("ok");
  expect([proxy.asked, asked]).toEqual([["public.test:443"], []]);
  for (const address of ["169.254.169.254", "10.0.0.1", "[fd00:ec2::254]"]) {
    expect((await failure(get(outbound, `https://${address}/`)))[0]).toBe("refused");
  }
  expect((await failure(get(outbound, "https://inside.test/")))[1]).toMatch(/is this machine itself/);
  const plain = { allowPrivate: "http://other.test" };
  expect((await failure(get(outbound, "http://other.test/", plain)))[1]).toMatch(/requests to it need https/);
  expect(proxy.asked).toEqual(["public.test:443"]);
  proxy.refusal = 502;
  expect(await failure(get(outbound, "https://other.test/"))).toEqual([
    "unreachable",
    "other.test cannot be reached: the server's proxy refused the connection (status 502).",
  ]);
  await proxy.stop();
});
