// From words to a call, and to the inbox of an agent, with JavaScript (Node 18 or later, Deno, Bun, a browser).
const base = globalThis.process?.env.BASE ?? "http://127.0.0.1:8080";

// Ends the program with one line.
function fail(line) {
  console.error(line);
  globalThis.process?.exit(1);
  throw line; // in a browser
}

async function get(path, parameters) {
  const address = `${base}${path}?${new URLSearchParams(parameters)}`;
  const answer = await fetch(address).catch((error) => fail(`${address}: ${error.cause?.message || error.cause?.code || error.message}`));
  const text = await answer.text();
  if (!answer.ok) fail(`${address}: ${answer.status} ${text}`);
  return JSON.parse(text);
}

// Calls an operation as `call` of a hit describes it, with the values of its parameters by name.
async function call(how, values) {
  let { url, method } = how;
  const headers = {}, body = {}, query = new URLSearchParams();
  if (how.http_binding) { // an operation of AGTP that can be called over HTTP: its verb is in a header
    url = how.http_binding;
    method = "POST";
    Object.assign(headers, { "X-AGIS-Method": how.method, "X-AGIS-Grammar": "AGIS/1.0" });
  }
  for (const { name, in: place } of how.parameters ?? []) {
    if (!(name in values)) continue;
    if (place === "path") url = url.replaceAll(`{${name}}`, encodeURIComponent(values[name]));
    else if (place === "query") query.set(name, values[name]);
    else if (place === "header") headers[name] = String(values[name]);
    else body[name] = values[name];
  }
  if (query.size) url += `?${query}`;
  const send = Object.keys(body).length > 0 && JSON.stringify(body);
  if (send) headers["Content-Type"] = "application/json";
  const answer = await fetch(url, { method, headers, ...(send && { body: send }), signal: AbortSignal.timeout(30_000) });
  return `${answer.status} ${await answer.text()}`;
}

// 1. Operations for what somebody said.
const found = await get("/api/v1/search", { q: "book a table", limit: 3 });
for (const hit of found.hits) console.log(hit.operation.verb, hit.host, hit.operation.intent ?? "");

// 2. One that only reads, and its call. The services of the demo answer inside the demo alone.
const readers = await get("/api/v1/search", { q: "find a free table in a restaurant", verb: "FIND", safe: true, limit: 1 });
for (const hit of readers.hits) {
  console.log("call", hit.operation.id, "at", hit.host);
  try {
    console.log("answer", (await call(hit.call, { location: "Rome", party_size: 2 })).slice(0, 1000));
  } catch (error) {
    console.log("no answer:", error.cause?.message ?? error.message);
  }
}

// 3. The same operations as tools for a model. Each one has its call under _meta.
const { tools } = await get("/api/v1/search", { q: "book a table", limit: 3, as: "mcp" });
for (const tool of tools) console.log("tool", tool.name, tool._meta["gazetteer/call"].method);

// 4. The agents that serve the operations, and the inboxes to write to: agent.mjs writes to one.
const served = await get("/api/v1/orchestrate", { q: "book a table", limit: 3 });
for (const operation of served.operations)
  for (const agent of operation.agents) console.log("write to", agent.inbox, agent.did, agent.strength);
