// A session of the official client: reads what to do from the standard input, writes what it saw.
import { text } from "node:stream/consumers"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"

const { url, headers, calls } = JSON.parse(await text(process.stdin))
const client = new Client({ name: "test", version: "1" })
const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: headers ?? {} } })
await client.connect(transport)
const seen = {
	server: client.getServerVersion(),
	protocol: transport.protocolVersion,
	instructions: client.getInstructions(),
	tools: (await client.listTools()).tools,
	results: [],
}
for (const call of calls ?? []) {
	seen.results.push(await client.callTool(call).catch(e => ({ error: e.message })))
}
await client.close()
process.stdout.write(JSON.stringify(seen))
