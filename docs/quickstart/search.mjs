// From words to how an operation is called and to the inbox of an agent, with JavaScript (Node 18 or later, Deno, Bun, a browser).
const base = globalThis.process?.env.BASE ?? "http://127.0.0.1:8080";

async function get(path, parameters) {
  const answer = await fetch(`${base}${path}?${new URLSearchParams(parameters)}`);
  if (!answer.ok) throw new Error((await answer.json()).detail);
  return answer.json();
}

// 1. Operations for what somebody said.
const found = await get("/api/v1/search", { q: "book a table", limit: 3 });
for (const hit of found.hits) console.log(hit.operation.verb, hit.host, hit.operation.intent ?? "");

// 2. The same as tools for a model. Each one says under _meta how it is called: over HTTP at url. An
// operation of AGTP can also have http_binding: a POST there, with the verb in a header, calls it.
const { tools } = await get("/api/v1/search", { q: "book a table", limit: 3, as: "mcp" });
for (const tool of tools) {
  const call = tool._meta["gazetteer/call"];
  if (call.http_binding) console.log(tool.name, "POST", call.http_binding, "X-AGIS-Method:", call.method);
  else console.log(tool.name, call.method, call.url ?? "");
}

// 3. The agents that serve the operations, and the inboxes to write to.
const served = await get("/api/v1/orchestrate", { q: "book a table", limit: 3 });
for (const operation of served.operations)
  for (const agent of operation.agents) console.log("write to", agent.inbox, agent.did, agent.strength);
