// Package mcp converts AGIS documents to tools of the Model Context Protocol and back, by the
// mapping in appendix C of the AGIS draft. Begin with [FromAGIS] or [ToAGIS].
//
// It covers the list of tools only: it opens no connection and speaks no protocol.
package mcp
