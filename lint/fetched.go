package lint

import "gazetteer/protocol"

// Fetched is what is known of a text that came over the network.
type Fetched struct {
	// Findings are those of the transport: redirects, media type, time, size.
	Findings []protocol.Finding
}
