package operator

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"gazetteer/internal/cli"
)

// TestLongWorkHasNoTimeLimit checks that a backup, a census and a compaction over --server wait for a
// server that is silent while it works, unless --timeout is given.
func TestLongWorkHasNoTimeLimit(t *testing.T) {
	const limit = 50 * time.Millisecond
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet { // what a compaction waits for
			io.WriteString(w, `{"compacting":false}`)
			return
		}
		select {
		case <-time.After(10 * limit):
			io.WriteString(w, `{"result":{},"forgotten":0}`+"\n")
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	for _, args := range []string{"backup /there", "census -o /there", "compact"} {
		for timeout, want := range map[string]string{"": "", " --timeout 50ms": "--timeout"} {
			a := &verbs{&cli.App{Streams: cli.Streams{Out: io.Discard, Err: io.Discard}, Server: server.URL, Timeout: limit}}
			root := &cobra.Command{Use: "gazetteer", SilenceErrors: true, SilenceUsage: true}
			root.PersistentFlags().DurationVar(&a.Timeout, "timeout", limit, "")
			root.AddCommand(a.writeBackupCommand(), a.writeCensusCommand(), a.compactCommand())
			root.SetArgs(strings.Fields(args + timeout))
			err := root.ExecuteContext(t.Context())
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%s%s: %v, want %q", args, timeout, err, want)
			}
		}
	}
}
