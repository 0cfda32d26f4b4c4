// Package notation reads the forms of AGIS and AI Discovery documents that the drafts do not
// define but that are in use: the brace notation of the examples in the AGIS draft ([ToAGIS]),
// endpoints as a mapping from "METHOD /path" ([ListEndpoints], [MapForm]), and the dialects of
// parameter descriptions ([ParamsToDraft], [ParamDialect]).
package notation
