// Calls methods of the npm package `pulsar-admin-client`, which lies in the working directory's node_modules: one for
// each line read, [address, service, method, {argument: value}]. Answers each with a line: {"value": …}, or
// {"status": …, "body": …} if the server refused.
import Module, { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.cwd()}/`);

// The package requires `node-fetch`, an ES module; Node before 20.19 cannot require those, only import them.
const fetch = { ...(await import(pathToFileURL(require.resolve("node-fetch")))), __esModule: true };
const load = Module._load;
Module._load = (name, ...rest) => (name === "node-fetch" ? fetch : load(name, ...rest));

const { Client } = require("pulsar-admin-client");

// The methods take arguments by their place, in an order that differs from method to method.
function placed(method, named) {
  const [, parameters] = /^\w+\(([^)]*)\)/.exec(method.toString());
  const names = parameters.split(",").map((each) => each.split("=")[0].trim());
  const unknown = Object.keys(named).filter((name) => !names.includes(name));
  if (unknown.length) throw new Error(`no such argument: ${unknown}`);
  return names.map((name) => named[name]);
}

async function answer(address, service, method, named) {
  const api = new Client({ BASE: `${address}/admin/v2` })[service];
  try {
    return { value: (await api[method](...placed(api[method], named))) ?? null };
  } catch (error) {
    return { status: error.status ?? 0, body: error.body ?? String(error) };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await answer(...JSON.parse(line))));
}
