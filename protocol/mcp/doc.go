// Package mcp converts AGIS and AI Discovery documents to tools of the Model Context Protocol, and
// tools to AGIS documents, by the mapping in appendix C of the AGIS draft. Begin with [FromAGIS],
// [FromAIDiscovery] or [ToAGIS].
//
// It covers the list of tools only: it opens no connection and speaks no protocol.
package mcp
