package fakenet

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"net/http"
	"os"
	"path"
	"strings"
	"time"
)

// A site answers its paths, and all others with 404.
type site map[string]http.Handler

func (s site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h, ok := s[r.URL.Path]
	if !ok {
		http.Error(w, "there is nothing at "+r.URL.Path, http.StatusNotFound)
		return
	}
	h.ServeHTTP(w, r)
}

// A file is served as a careful owner would: with its media type, a day's
// freshness (AI Discovery 4.2) and a validator for If-None-Match.
type file struct {
	body        []byte
	media, etag string
}

func newFile(body []byte, media string) file {
	sum := sha256.Sum256(body)
	return file{body: body, media: media, etag: `"` + hex.EncodeToString(sum[:8]) + `"`}
}

func (f file) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", f.media)
	h.Set("Cache-Control", "public, max-age=86400")
	h.Set("ETag", f.etag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.body))
}

// HandleFiles serves the files below a directory as a host. What the directory does not have is
// answered as before, if the host exists. Files may change while they are served. The two discovery
// paths are also answered with ai.json and agis.json at the top of the directory, the files that
// gazetteer init writes.
func (n *Net) HandleFiles(host, dir string) {
	before, known := n.siteOf(foldHost(host))
	files := os.DirFS(dir)
	n.Handle(host, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked := strings.TrimPrefix(r.URL.Path, "/")
		for _, name := range []string{asked, discoveryFiles[asked]} {
			if info, err := fs.Stat(files, name); err == nil && info.Mode().IsRegular() {
				serveOwnFile(w, r, files, asked, name)
				return
			}
		}
		if known {
			before.Handler.ServeHTTP(w, r)
			return
		}
		http.NotFound(w, r)
	}))
}

// discoveryFiles are the files that answer the discovery paths of a directory without such paths.
var discoveryFiles = map[string]string{".well-known/ai": "ai.json", ".well-known/agis.json": "agis.json"}

// serveOwnFile serves a file of the user's directory with the media type that its path asks for.
func serveOwnFile(w http.ResponseWriter, r *http.Request, files fs.FS, asked, name string) {
	if media := mediaTypes[path.Ext(name)]; media != "" {
		w.Header().Set("Content-Type", media)
	}
	if asked == ".well-known/ai" {
		w.Header().Set("Content-Type", mediaTypes[".json"])
	}
	http.ServeFileFS(w, r, files, name)
}
