package server

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// TestExpiringCertificateIsLogged checks that the log warns of a certificate that clients refuse, now
// or soon.
func TestExpiringCertificateIsLogged(t *testing.T) {
	certificate, key := writeCertificate(t)
	f := &certificateFile{certificate: certificate, key: key, now: time.Now, log: slog.New(slog.DiscardHandler)}
	if err := f.read(); err != nil {
		t.Fatal(err)
	}
	end := f.current.Load().Leaf.NotAfter
	for _, c := range []struct {
		now  time.Time
		want string
	}{
		{end.Add(-30 * 24 * time.Hour), "level=INFO msg=\"certificate read\""},
		{end.Add(-time.Hour), "level=WARN msg=\"the certificate of the tool host expires soon"},
		{end.Add(time.Second), "level=WARN msg=\"the certificate of the tool host has expired"},
	} {
		var log bytes.Buffer
		f.now, f.log = func() time.Time { return c.now }, slog.New(slog.NewTextHandler(&log, nil))
		if err := f.read(); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(log.String(), c.want) || !strings.Contains(log.String(), certificate) {
			t.Errorf("at %s: %s", c.now, log.String())
		}
	}
}
