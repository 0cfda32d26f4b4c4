// A runtime in JavaScript that executes two tools: add returns a sum, count streams numbers. It needs
// Node 22 or later, whose own WebSocket takes headers, and no packages.
//
//   ALTAR_TOKEN=… node runtime.mjs ws://127.0.0.1:8080/altar/v1/runtimes calculator
//
// JSON.parse rounds integers beyond 2^53; a tool that needs all digits reads the text itself.
const [url, runtimeId] = process.argv.slice(2);
if (typeof WebSocket === "undefined" || Number.parseInt(process.versions.node) < 22) {
  console.error(`this program needs Node 22 or later, and this is Node ${process.versions.node}`);
  process.exit(2);
}
if (!runtimeId) {
  console.error("usage: ALTAR_TOKEN=… node runtime.mjs ws://HOST/altar/v1/runtimes RUNTIME-ID");
  process.exit(2);
}
const socket = new WebSocket(url, { headers: { Authorization: `Bearer ${process.env.ALTAR_TOKEN}` } });
const send = (type, members) => socket.send(JSON.stringify({ type, ...members }));
const running = new Map(); // calls by invocation_id
let general = false; // the tools of every session have been announced

const tools = {
  add: ({ a, b }) => ({ sum: a + b }),
  *count({ to }) {
    for (let i = 1; i <= to; i++) yield i;
  },
};

async function execute({ invocation_id, tool_name, parameters }) {
  const call = { cancelled: false };
  running.set(invocation_id, call);
  const prefix = `${runtimeId}/`;
  const name = tool_name.startsWith(prefix) ? tool_name.slice(prefix.length) : tool_name;
  let chunk_id = -1; // of the next chunk; -1 until the tool streams
  try {
    if (!Object.hasOwn(tools, name)) {
      send("ToolResult", { invocation_id, status: "error", error: { code: "TOOL_NOT_FOUND", message: `this runtime has no tool ${name}` } });
      return;
    }
    const result = tools[name](parameters);
    if (typeof result?.next !== "function") {
      send("ToolResult", { invocation_id, status: "success", payload: result });
      return;
    }
    chunk_id = 0;
    for (const payload of result) {
      send("StreamChunk", { invocation_id, chunk_id: chunk_id++, payload, is_final: false });
      await new Promise(setImmediate); // lets CancelCall arrive
      if (call.cancelled) return;
    }
    send("StreamChunk", { invocation_id, chunk_id, is_final: true });
  } catch (thrown) {
    const error = { code: "EXECUTION_FAILED", message: String(thrown) };
    if (chunk_id >= 0) send("StreamChunk", { invocation_id, chunk_id, error, is_final: true });
    else send("ToolResult", { invocation_id, status: "error", error });
  } finally {
    running.delete(invocation_id);
  }
}

socket.addEventListener("open", () =>
  send("AnnounceRuntime", { runtime_id: runtimeId, language: "javascript", protocol_version: "1.0.0", capabilities: ["streaming"] }));
socket.addEventListener("message", ({ data }) => {
  const message = JSON.parse(data);
  switch (message.type) {
    case "RequestFulfillment":
      if (message.session_id && general) break; // what was said for all sessions holds there, too
      general ||= !message.session_id;
      send("FulfillTools", { session_id: message.session_id, tool_names: Object.keys(tools).map((name) => `${runtimeId}/${name}`) });
      break;
    case "ToolCall":
      execute(message);
      break;
    case "CancelCall": {
      const call = running.get(message.invocation_id);
      if (call) call.cancelled = true;
      break;
    }
    case "ProtocolError":
      console.error(message.error.code, message.error.message);
  }
});
socket.addEventListener("close", ({ code, reason }) => process.exit(code === 1000 || code === 1001 ? 0 : (console.error(code, reason), 1)));
socket.addEventListener("error", ({ message }) => {
  console.error(`no connection to ${url}: ${message} Is the server running, and ALTAR_TOKEN the token of this runtime?`);
  process.exitCode = 1;
});
