package route

import (
	"net/http"
	"strings" // crawlPath and streamPath are the routes whose answers may take any time.
)

const CrawlPath = "/admin/crawl"

func isAdminPath(path string) bool { return strings.HasPrefix(path, "/admin/") }

const (
	AgentsPath   = "/api/v1/agents/"
	OperatorPath = "/api/v1/admin/"
)

// isOperatorRoute reports whether a request is one that the reference takes from
// its operator. Here they answer only where the operator's other routes do,
// whatever key comes with them: a key in a header can be guessed and leaked.
func isOperatorRoute(method, path string) bool {
	id, ofAgents := strings.CutPrefix(path, AgentsPath+"AIR-")
	return strings.HasPrefix(path, OperatorPath) || ofAgents && method == http.MethodDelete && !strings.Contains(id, "/")
}

// operatorOnly refuses what only the operator may ask.
func operatorOnly() *Error {
	r := NewProblem(unauthorized, "Unauthorized", "the operator's routes answer only on the Unix socket in the data directory; owners of an agent use /deactivate and /erase")
	r.Plain = true
	return r
}

// CompactPath is a route whose answer may take any time.
const CompactPath = "/admin/compact"

// WitnessPrefix is where this server is a witness of the logs of others.
const WitnessPrefix = "/witness"

// exportLine begins what an error says of where an export is wrong.
const exportLine = "line "
